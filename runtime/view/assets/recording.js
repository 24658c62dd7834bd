// One conversation: its records, and what held at any moment of it.

class Recording {
  constructor(flow, initial) {
    this.flow = flow;
    this.initial = initial;
    this.factNames = Object.keys(flow.facts);
    this.stateNames = Object.keys(flow.states);
    this.records = [];
    this.times = []; // never falling, so that they can be searched
    this.states = []; // after each record
    this.facts = []; // shared where they do not change
    this.settings = []; // likewise: name, value, what it belongs to, key of its line
    this.entered = []; // the record by which the state was entered; -1: the start
    this.numbers = new Map();
    this.end = 0.1;
    this.lanes = null;
    this.silences = []; // longer than two seconds
    this.responses = []; // of the turns that were answered
  }

  add(rows) {
    for (const row of rows) this.addOne(row);
    if (rows.length) this.lanes = null;
  }

  addOne(row) {
    const i = this.records.length;
    this.records.push(row);
    this.numbers.set(row.n, i);
    this.times.push(Math.max(row.t, i ? this.times[i - 1] : 0));
    this.states.push(row.d ?? (row.s || this.stateAt(i - 1)));
    this.facts.push(row.f ?? this.factsAt(i - 1));
    this.settings.push(row.g ?? this.settingsAt(i - 1));
    this.entered.push(row.e ? i : this.enteredAt(i - 1));
    this.addSilences(row.h ?? []);
    if (row.u !== undefined) this.responses.push({ a: row.u, b: row.u + row.l, i, parts: partsOf(row) });
    const until = row.x && typeof row.x.end === "number" && row.x.end < 1e7 ? row.x.end : 0;
    this.end = Math.max(this.end, row.t, until);
  }

  addSilences(found) {
    for (const [a, b, cause, parts] of found) {
      this.silences.push({ a, b, cause, parts: parts.map(([a, b, cause, why]) => ({ a, b, cause, why })) });
    }
  }

  silenceAt(t) { return this.silences.find((one) => one.a <= t + 1e-6 && t < one.b - 1e-6) ?? null; }

  // The last record at or before a second; -1 before the first.
  find(t) {
    let low = 0, high = this.times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] <= t + 1e-6) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  stateAt(i) { return i < 0 ? this.initial : this.states[i]; }
  settingsAt(i) { return i < 0 ? this.flow.settings : this.settings[i]; }
  factsAt(i) { return i < 0 ? [] : this.facts[i]; }
  enteredAt(i) { return i < 0 ? -1 : this.entered[i]; }

  // The timers of the held state: how long each runs, and what is left of it.
  timersAt(i, t) {
    const state = this.flow.states[this.stateAt(i)];
    if (!state) return [];
    const fire = state.timers.filter((name) => this.flow.timers[name] !== null);  // null: never
    return fire.map((name) => {
      let k = i;  // the record that has started it
      const starts = ({ k, e, y, z }) => k === name || z?.includes(name) || (e && !y?.includes(name));
      while (k >= 0 && !starts(this.records[k])) k--;
      const start = k < 0 ? 0 : this.times[k];
      // a timer whose guard holds it back starts again
      const seconds = this.flow.timers[name];
      const passed = Math.max(0, t - start);
      return { name, seconds, left: seconds - (passed % seconds), again: passed >= seconds };
    });
  }

  // What the facts were before and are after a record: names that came and names that went.
  change(i) {
    const now = this.factsAt(i), before = this.factsAt(i - 1);
    if (now === before) return { came: [], went: [] };
    const name = (n) => this.factNames[n];
    return {
      came: now.filter((n) => !before.includes(n)).map(name),
      went: before.filter((n) => !now.includes(n)).map(name),
    };
  }

  isTimer(name) { return Object.hasOwn(this.flow.timers, name); }
  refused(row) { return row.q !== undefined; }
  // A timer that finds its guard closed waits on: no refusal.
  isRefusal(row) { return this.refused(row) && !this.isTimer(row.k); }
}

// The line that decided a record: file, line, column, width.
function placeOf(flow, row) {
  const at = flow.source.at;
  if (row.k === undefined) return null;
  if (row.r) return at[row.r] ?? null;
  if (row.q === "stale" || row.q === "unarmed") return at[row.k] ?? null;
  if (row.q === "closed") return null;
  return at[`${row.s}.${row.k}`] ?? at[row.k] ?? null;
}

// The parts of a response, one after the other.
function partsOf(row) {
  let a = row.u;
  return Object.entries(row.p).map(([cause, s]) => ({ cause, a, b: (a += s) }));
}

// One line about a record: [what, the rest].
function headline(recording, i) {
  const row = recording.records[i];
  if (row.m !== undefined) return [row.m, noteText(row)];
  if (row.q === "ignores") return [row.k, `ignored in ${row.s}`];
  if (row.q !== undefined) {
    const word = recording.isTimer(row.k) ? "held back" : "refused";
    return [row.k, `${word} in ${row.s}: ${row.w}`];
  }
  const does = row.a ? ` / ${row.a.join(", ")}` : "";
  if (row.e) return [row.k, `${row.s} → ${row.d}${does}`];
  const { came, went } = recording.change(i);
  const facts = [...came.map((n) => `+${n}`), ...went.map((n) => `−${n}`)].join(" ");
  return [row.k, `stays ${row.s}${does}${facts ? `  ${facts}` : ""}`];
}

function noteText(row) {
  const x = row.x ?? {};
  const said = typeof x.text === "string" ? x.text : "";
  if (row.m === "message") return said ? `${x.role}: ${said}` : `${x.role}: text left out`;
  if (row.m === "turn") return [`turn ${x.number} ${x.outcome}${x.why ? `: ${x.why}` : ""}`, partsText(row)].filter(Boolean).join(", ");
  if (row.m === "agent_state") return `${x.old} → ${x.new}`;
  const named = [x.name, x.how, x.outcome, x.line, said].filter((v) => typeof v === "string" && v);
  if (named.length) return named.join("  ");
  return Object.entries(x).map(([k, v]) => `${k} ${typeof v === "object" ? JSON.stringify(v) : v}`).join("  ");
}

// What a response latency was spent on.
function partsText(row) {
  if (row.l === undefined) return "";
  const parts = Object.entries(row.p).map(([part, s]) => `${part} ${s.toFixed(2)}`).join(", ");
  return `response ${row.l.toFixed(2)} s${parts ? ` (${parts})` : ""}`;
}

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const byId = (id) => document.getElementById(id);
const seconds = (t) => {
  if (t < 60) return `${t.toFixed(2)} s`;
  const minutes = Math.floor(t / 60);
  return `${minutes}:${(t - 60 * minutes).toFixed(2).padStart(5, "0")}`;
};
