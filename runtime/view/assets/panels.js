// What holds now: state, facts, timers; the decision and its reason; the transcript.

class NowPanel {
  constructor() {
    this.state = byId("state");
    this.is = byId("state-is");
    this.facts = byId("facts");
    this.timers = byId("timers");
  }

  setup(recording) {
    this.recording = recording;
    const chip = ([name, body]) => element("li", { class: "chip", title: body.is || name }, name);
    this.chips = Object.entries(recording.flow.facts).map(chip);
    this.facts.replaceChildren(...this.chips);
    this.held = null;
    this.known = null;
  }

  // All facts, or those that hold.
  showAll(button) {
    const all = this.facts.classList.toggle("all");
    button.textContent = all ? "show those that hold" : "show all";
    button.setAttribute("aria-pressed", String(all));
  }

  show(i, t) {
    const { recording } = this, state = recording.stateAt(i), facts = recording.factsAt(i);
    if (state !== this.held) {
      this.held = state;
      this.state.textContent = state;
      this.state.style.background = `var(--state-${Math.max(0, recording.stateNames.indexOf(state)) % 12})`;
      this.is.textContent = recording.flow.states[state]?.is ?? "";
    }
    if (facts !== this.known) {
      this.known = facts;
      this.chips.forEach((chip, n) => {
        const on = facts.includes(n);
        chip.classList.toggle("on", on);
        chip.setAttribute("aria-label", `${recording.factNames[n]}: ${on ? "true" : "false"}`);
      });
    }
    this.clocks(recording.timersAt(i, t));
  }

  clocks(timers) {
    const names = timers.map((timer) => timer.name).join();
    if (this.names !== names) {
      this.names = names;
      this.bars = timers.map((timer) => {
        const bar = element("span", { class: "bar-fill" });
        const left = element("span", { class: "left" });
        return { bar, left, item: element("li", {}, element("span", { class: "timer-name" }, timer.name), element("span", { class: "bar-box" }, bar), left) };
      });
      this.timers.replaceChildren(...this.bars.map((b) => b.item));
      if (!timers.length) this.timers.append(element("li", { class: "quiet" }, "no timer runs in this state"));
    }
    timers.forEach(({ seconds: whole, left, again }, k) => {
      this.bars[k].bar.style.transform = `scaleX(${Math.max(0, left / whole).toFixed(4)})`;
      this.bars[k].left.textContent = `${left < 10 ? left.toFixed(2) : left.toFixed(0)} s`;
      this.bars[k].item.title = again ? "its guard refused it; it runs again" : `${whole} s`;
    });
  }
}

// The settings in force, each with what it belongs to, and its line.
class SettingsPanel {
  constructor(box, onPlace) {
    Object.assign(this, { box, onPlace });
  }

  setup() {
    this.shown = null;
  }

  show(recording, i) {
    const settings = recording.settingsAt(i), { at } = recording.flow.source;
    if (settings === this.shown) return;
    this.shown = settings;
    if (!settings.length) {
      this.box.replaceChildren(element("p", { class: "quiet" }, "This flow makes no settings."));
      return;
    }
    const head = element("tr", {}, ...["setting", "value", "from"].map((name) => element("th", { scope: "col" }, name)));
    const from = (words, place) => (place ? element("button", { type: "button", class: "link", onclick: () => this.onPlace(place) }, words) : words);
    const rows = settings.map(([name, value, words, key]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", { class: "outcome" }, value), element("td", { class: "outcome" }, from(words, at[key]))));
    this.box.replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)), element("p", { class: "quiet" }, "What the flow sets at this moment. Everything else is as the session has it."));
  }
}

class WhyPanel {
  constructor(box, onSeek, onPlace) {
    Object.assign(this, { box, onSeek, onPlace });
  }

  // A record, and the silence that it falls into.
  show(recording, i, silence) {
    const waited = silence ? [this.silence(silence)] : [];
    if (i < 0) {
      this.box.replaceChildren(...waited, element("p", { class: "quiet" }, "Nothing has happened yet."));
      return;
    }
    const row = recording.records[i], flow = recording.flow;
    const kind = kindOf(recording, row);
    const word = { note: "note", ignored: "ignored", refused: "refused", "held-back": "held back", move: "taken", timer: "taken", stay: "taken" }[kind];
    const parts = [element("p", { class: "verdict" }, element("span", { class: `tag ${kind}` }, word), element("b", {}, row.k ?? row.m), element("span", { class: "quiet" }, ` ${row.t.toFixed(3)} s, #${row.n}`))];
    if (row.k !== undefined) parts.push(this.sentence(flow, row), ...this.place(flow, row));
    parts.push(this.details(recording, i));
    this.box.replaceChildren(...waited, ...parts);
    this.box.scrollTop = 0;
  }

  silence({ a, b, cause, parts }) {
    const head = element("p", {}, element("b", {}, `${(b - a).toFixed(2)} s of silence: ${cause}`));
    const rows = parts.map((part) => element("li", {}, element("span", { class: "swatch", style: `background:var(--${colorOf(part.cause)})` }), element("span", {}, element("b", {}, part.cause), element("span", { class: "quiet" }, ` ${part.a.toFixed(2)} to ${part.b.toFixed(2)} s `), part.why)));
    return element("div", { class: "silence" }, head, element("ul", {}, ...rows));
  }

  sentence(flow, row) {
    const what = flow.triggers[row.k]?.is ?? (Object.hasOwn(flow.timers, row.k) ? `Timer, ${flow.timers[row.k] === null ? "never" : `${flow.timers[row.k]} s`}.` : "");
    const line = element("p", {});
    if (row.q !== undefined) line.append(element("b", { class: "reason" }, `${row.w}. `));
    else line.append(row.e ? `${row.s} → ${row.d}. ` : `Stays in ${row.s}. `);
    line.append(element("span", { class: "quiet" }, what));
    return line;
  }

  place(flow, row) {
    const place = placeOf(flow, row);
    if (!place) return [];
    const [file, line, column] = place;
    const words = `${flow.source.files[file].name}:${line}:${column}`;
    return [element("p", {}, "Decided by ", element("button", { type: "button", class: "link", onclick: () => this.onPlace(place) }, words), row.r ? element("span", { class: "quiet" }, ` ${row.r}`) : null)];
  }

  details(recording, i) {
    const row = recording.records[i], flow = recording.flow, list = element("dl");
    const add = (name, ...value) => list.append(element("dt", {}, name), element("dd", { dir: "auto" }, ...value));
    for (const action of row.a ?? []) add(action, flow.actions[action] ?? "");
    const { came, went } = recording.change(i);
    if (came.length) add("now true", came.join(", "));
    if (went.length) add("now false", went.join(", "));
    if (row.o !== undefined) add("of", row.o);
    if (row.c !== undefined && recording.numbers.has(row.c)) {
      const cause = recording.numbers.get(row.c);
      add("caused by", element("button", { type: "button", class: "link", onclick: () => this.onSeek(cause) }, `#${row.c} ${recording.records[cause].k ?? ""}`));
    }
    for (const [name, value] of Object.entries(row.x ?? {})) {
      add(name, typeof value === "string" ? value : JSON.stringify(value));
    }
    return list;
  }
}

// The turns of the user: how each has ended, and what the time until its reply was spent on.
class TurnsPanel {
  constructor(box, onSeek) {
    Object.assign(this, { box, onSeek });
  }

  setup(recording) {
    const ends = recording.records.flatMap((row, i) => (row.m === "turn" ? [[row, i]] : []));
    if (!ends.length) {
      this.box.replaceChildren(element("p", { class: "quiet" }, "No turn has ended."));
      return;
    }
    const parts = [...new Set(ends.flatMap(([row]) => Object.keys(row.p ?? {})))];
    const head = element("tr", {}, ...["turn", "outcome", "response", ...parts].map((name) => element("th", { scope: "col" }, name)));
    const rows = ends.map(([row, i]) => {
      const { number, outcome, why } = row.x ?? {};
      const cell = (s) => element("td", {}, s === undefined ? "" : s.toFixed(2));
      const turn = element("button", { type: "button", class: "link", onclick: () => this.onSeek(i) }, `${number}`);
      return element("tr", { title: why }, element("th", { scope: "row" }, turn), element("td", { class: "outcome" }, outcome), cell(row.l), ...parts.map((part) => cell(row.p?.[part])));
    });
    this.box.replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)), element("p", { class: "quiet" }, "Seconds from the end of the user's voice to the first audio, and what they were spent on."));
  }
}

class WordsPanel {
  constructor(box, onTime) {
    this.box = box;
    this.onTime = onTime;
  }

  setup(recording, redacted) {
    const said = conversationOf(recording, recording.lanes);
    this.items = said.map(({ t, who, text, interrupted, until, how }) => {
      if (who === "tool") return this.tool(t, text, until, how);
      const said = element("span", { class: "text", dir: "auto" }, text || (redacted ? "text left out" : "no transcript"));
      if (!text) said.classList.add("quiet");
      const item = element("button", { type: "button", class: `said ${who === "user" ? "user" : "agent"}` }, element("span", { class: "who" }, `${who}  ${seconds(t)}`), said, interrupted ? element("span", { class: "interrupted-mark" }, "interrupted") : null);
      item.addEventListener("click", () => this.onTime(t));
      return item;
    });
    this.times = said.map((w) => w.t);
    const note = redacted ? [element("p", { class: "quiet" }, "This journal does not contain what people said. Write it with JsonlSink(..., redact=None) to have it.")] : [];
    const none = this.items.length ? [] : [element("p", { class: "quiet" }, "Nothing was said.")];
    this.box.replaceChildren(...note, ...none, ...this.items);
    this.marked = null;
  }

  tool(t, name, until, how) {
    const item = element("button", { type: "button", class: "said called" }, element("span", { class: "who" }, `tool  ${seconds(t)}`), element("span", { class: "text" }, element("b", {}, name), ` ${how || "runs"} after ${(until - t).toFixed(2)} s`));
    item.addEventListener("click", () => this.onTime(t));
    return item;
  }

  point(t) {
    let at = -1;
    while (at + 1 < this.times.length && this.times[at + 1] <= t + 1e-6) at++;
    const item = this.items[at] ?? null;
    if (item === this.marked) return;
    this.marked?.removeAttribute("aria-current");
    item?.setAttribute("aria-current", "true");
    this.marked = item;
    this.look();
  }

  // What is said now is in sight.
  look() {
    if (this.marked && !this.box.hidden) this.box.scrollTop = this.marked.offsetTop - this.box.clientHeight / 2;
  }
}
