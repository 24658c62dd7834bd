// The page, wired together.

class Page {
  constructor(data) {
    this.data = data;
    this.index = null;
    this.picture = new Picture(byId("picture"), (state) => this.source.show(this.recording.flow.source.at[`=${state}`]));
    this.now = new NowPanel();
    this.source = new SourcePanel(byId("source"), byId("source-name"), byId("files"));
    this.why = new WhyPanel(byId("why"), (i) => this.pick(i), (place) => this.source.show(place));
    this.list = new EventList(byId("rows"), (i) => this.pick(i));
    this.turns = new TurnsPanel(byId("turns"), (i) => this.pick(i));
    this.evidence = new EvidencePanel(byId("evidence"), (i) => this.pick(i));
    this.settings = new SettingsPanel(byId("settings"), (place) => this.source.show(place));
    this.words = new WordsPanel(byId("words"), (t) => this.seek(t));
    this.player = new Player((t) => this.show(t), () => this.transport());
    this.timeline = new Timeline(byId("lanes"), byId("canvas"), byId("cursor"), byId("tip"), (t) => this.seek(t));
    this.theme(localTheme());
    this.controls();
    this.tabs("tab-events", "tab-words", "tab-turns", "tab-evidence", "tab-settings");
  }

  // Show another conversation, of the same flow or of another one.
  open(data) {
    this.data = data;
    byId("title").textContent = data.title;
    document.title = data.title;
    this.recording = new Recording(data.flow, data.initial);
    this.recording.add(data.records);
    this.recording.addSilences(data.silences ?? []);
    this.recording.end = Math.max(this.recording.end, data.end ?? 0);
    this.drawFlow(data.flow);
    this.sound = data.sound ? { ...data.sound, peaks: data.sound.peaks.map(bytesOf) } : null;
    this.badges();
    this.index = null;
    this.refresh();
    if (this.recording.end > 180) this.timeline.view(0, 120);
    else this.timeline.fit();
  }

  // Other records of the same flow.
  swap(records) {
    this.player.pause();
    this.recording = new Recording(this.data.flow, this.data.initial);
    this.recording.add(records);
    this.recording.silences = []; // nobody waited: its seconds are made up
    this.now.setup(this.recording);
    this.index = null;
    this.refresh();
    this.timeline.view(0, Math.max(4, this.recording.end));
  }

  drawFlow(flow) {
    this.picture.draw(flow);
    this.colors();
    this.now.setup(this.recording);
    this.source.setup(flow);
    const rows = (box, names, any) => box.replaceChildren(element("option", { value: "" }, any), ...names.map((n) => element("option", { value: n }, n)));
    rows(byId("by-state"), Object.keys(flow.states), "any state");
    rows(byId("by-trigger"), [...Object.keys(flow.triggers), ...Object.keys(flow.timers)], "any trigger");
  }

  // Records have come: what depends on all of them is worked out again.
  refresh() {
    const { recording } = this;
    recording.lanes = lanesOf(recording);
    this.player.end = recording.end;
    byId("slider").max = recording.end;
    this.timeline.show(recording, this.sound);
    this.words.setup(recording, this.data.redacted);
    this.turns.setup(recording);
    this.evidence.setup(recording);
    this.settings.setup();
    this.filter();
    const wait = recording.lanes.refusals.length;
    byId("refusal").textContent = wait === 1 ? "1 refusal" : `${wait} refusals`;
    byId("refusal").disabled = !wait;
    byId("worst").hidden = this.data.at === undefined;
  }

  badges() {
    const { data } = this, badges = [];
    const badge = (kind, words, more) => badges.push(element("span", { class: `badge ${kind}`, title: more }, words));
    if (data.startedAt > 0) badge("plain", new Date(data.startedAt * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }), "when the session began");
    if (data.replays === null) badge("good", "replays", "the flow decides every entry again in the same way");
    else if (data.replays) badge("bad", "differs from the flow", data.replays);
    const unread = this.unread ?? [];
    if (this.recording && unread.length) badge("bad", `${unread.length} not shown`, unread.join("\n"));
    else for (const why of unread) badge("bad", why, "this journal cannot be shown");
    if (data.damage) badge("bad", "cut off", data.damage);
    if (data.how) badge("bad", / error/.test(data.how) ? "closed by an error" : "not closed", data.how.trim());
    if (data.redacted) badge("plain", "text left out", "the journal does not contain what people said");
    byId("badges").replaceChildren(...badges);
  }

  // Put the page at a second.
  seek(t) {
    this.live?.leave();
    this.player.seek(t);
    this.show(this.player.t);
    clearTimeout(this.saving);
    this.saving = setTimeout(() => history.replaceState(null, "", `#t=${this.player.t.toFixed(2)}`), 300);
  }

  // Go to a record: the page is at its second, and it is the one that is explained.
  pick(i) {
    this.live?.leave();
    this.player.seek(this.recording.times[i]);
    this.show(this.player.t, i);
    const [what, rest] = headline(this.recording, i);
    byId("said").textContent = `${this.recording.times[i].toFixed(2)} seconds, ${this.recording.stateAt(i)}. ${what} ${rest}`.slice(0, 300);
  }

  show(t, picked, near = this.index !== null) {
    const { recording } = this;
    const i = picked ?? recording.find(t), silence = recording.silenceAt(t);
    if (i !== this.index || silence !== this.silence) {
      const animated = near && Math.abs(i - (this.index ?? i)) < 12 && this.player.speed <= 2;
      this.index = i;
      this.silence = silence;
      this.picture.show(recording.stateAt(i), this.lastMove(i), this.lastRefusal(i), animated);
      this.explain(i, picked !== undefined);
      this.list.point(i);
      this.evidence.point(i);
      this.settings.show(recording, i);
      document.body.dataset.state = recording.stateAt(i);
    }
    this.now.show(i, t);
    this.words.point(t);
    this.timeline.point(t, true);
    byId("clock").value = seconds(t);
    const slider = byId("slider");
    slider.value = t;
    slider.setAttribute("aria-valuetext", `${t.toFixed(1)} seconds, ${recording.stateAt(i)}`);
    document.body.dataset.time = t;
  }

  // What is explained is the last decision, or the very record that was asked for.
  explain(i, picked) {
    const { recording } = this;
    let k = i;
    while (k >= 0 && recording.records[k].k === undefined) k--;
    this.why.show(recording, picked ? i : k, this.silence);
    this.source.show(k < 0 ? null : placeOf(recording.flow, recording.records[k]));
  }

  lastMove(i) {
    const at = this.recording.enteredAt(i);
    return at < 0 ? null : this.recording.records[at];
  }

  lastRefusal(i) {
    for (let k = i; k > this.recording.enteredAt(i); k--) {
      const row = this.recording.records[k];
      if (this.recording.isRefusal(row)) return row;
      if (row.k !== undefined) return null;
    }
    return null;
  }

  // The next record of the list before or after this one.
  step(by) {
    const shown = this.list.shown, at = this.list.position(this.index);
    const to = by > 0 ? at + 1 : shown[at] === this.index ? at - 1 : at;
    if (to >= 0 && to < shown.length) this.pick(shown[to]);
    else if (by < 0) this.seek(0);
  }

  nextRefusal() {
    const marks = this.recording.lanes.refusals;
    const mark = marks.find((m) => m.i > this.index) ?? marks[0];
    if (mark) this.pick(mark.i);
  }

  filter() {
    this.list.filter(this.recording, { words: byId("search").value, kind: byId("by-kind").value, trigger: byId("by-trigger").value, state: byId("by-state").value });
    const all = this.recording.records.length, shown = this.list.shown.length;
    byId("count").textContent = all === shown ? (all === 1 ? "1 event" : `${all} events`) : `${shown} of ${all} events`;
    if (this.index !== null) this.list.point(this.index);
  }

  transport() {
    const { playing } = this.player;
    byId("play").classList.toggle("playing", playing);
    byId("play").setAttribute("aria-label", playing ? "Pause" : "Play");
  }

  controls() {
    const press = (id, action) => byId(id).addEventListener("click", action);
    press("play", () => this.play());
    press("first", () => this.seek(0));
    press("last", () => this.seek(this.recording.end));
    press("back", () => this.step(-1));
    press("next", () => this.step(1));
    press("refusal", () => this.nextRefusal());
    press("all-facts", () => this.now.showAll(byId("all-facts")));
    press("worst", () => this.seek(this.data.at));
    press("in", () => this.timeline.zoom(0.6, this.player.t));
    press("out", () => this.timeline.zoom(1 / 0.6, this.player.t));
    press("fit", () => this.timeline.fit());
    press("theme", () => this.theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
    press("help-open", () => byId("help").showModal());
    press("mute", () => this.mute());
    byId("slider").addEventListener("input", (event) => this.seek(+event.target.value));
    byId("speed").addEventListener("change", (event) => this.player.setSpeed(+event.target.value));
    for (const id of ["by-kind", "by-trigger", "by-state"]) byId(id).addEventListener("change", () => this.filter());
    byId("search").addEventListener("input", () => this.filter());
    byId("keys").append(...KEYS.flatMap(([keys, words]) => [element("dt", {}, keys), element("dd", {}, words)]));
    document.addEventListener("keydown", (event) => this.key(event));
  }

  play() {
    this.live?.leave();
    this.player.toggle();
  }

  mute() {
    const { audio } = this.player;
    audio.muted = !audio.muted;
    byId("mute").setAttribute("aria-pressed", String(audio.muted));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest("input[type=search], textarea, select, dialog[open]");
    if (event.key === "Escape" && typing) return event.target.blur();
    if (typing) return;
    const pressing = event.key === " " && event.target.closest("button");
    const sliding = event.target.id === "slider" && /^Arrow|Home|End|Page/.test(event.key);
    const action = this.recording && this.actionOf(event);
    if (!action || pressing || (sliding && event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return;
    event.preventDefault();
    action();
  }

  actionOf(event) {
    const by = event.shiftKey ? 5 : 0, { player } = this;
    return {
      " ": () => this.play(),
      ArrowRight: () => (by ? this.seek(player.t + by) : this.step(1)),
      ArrowLeft: () => (by ? this.seek(player.t - by) : this.step(-1)),
      Home: () => this.seek(0),
      End: () => this.seek(this.recording.end),
      r: () => this.nextRefusal(),
      w: () => byId("worst").click(),
      "/": () => { this.tab("tab-events"); byId("search").focus(); },
      l: () => this.live?.follow(),
      t: () => byId("theme").click(),
      "+": () => byId("in").click(),
      "-": () => byId("out").click(),
      0: () => byId("fit").click(),
      "?": () => byId("help").showModal(),
    }[event.key];
  }

  tabs(...ids) {
    for (const id of ids) {
      byId(id).addEventListener("click", () => this.tab(id));
      byId(id).addEventListener("keydown", (event) => {
        if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
        event.stopPropagation();
        const other = ids[(ids.indexOf(id) + (event.key === "ArrowRight" ? 1 : ids.length - 1)) % ids.length];
        this.tab(other);
        byId(other).focus();
      });
    }
  }

  tab(id) {
    const chosen = byId(id);
    for (const tab of chosen.parentElement.children) {
      const on = tab === chosen;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = !on;
    }
    document.body.dataset.tab = id;
    this.list.render();
    this.words.look();
    this.timeline.redraw();
  }

  theme(name) {
    document.documentElement.dataset.theme = name;
    byId("theme").textContent = name === "dark" ? "Light" : "Dark";
    try { localStorage.setItem("turnfsm-theme", name); } catch { /* a page of its own has no storage */ }
    if (this.recording) this.colors();
  }

  colors() {
    const theme = this.recording.flow.themes[document.documentElement.dataset.theme];
    const { style } = document.documentElement;
    for (const [name, color] of Object.entries(theme.palette)) style.setProperty(`--${name}`, color);
    for (let n = 0; n < 12; n++) style.setProperty(`--state-${n}`, theme.states[n % theme.states.length]);
    this.timeline.recolor();
  }

  // The recording is taken apart when the page already stands.
  listen() {
    const box = byId("sound"), base64 = box.textContent;
    if (!base64 || !this.data.sound) return;
    this.player.load(base64, box.dataset.type, this.data.sound.offset);
    box.remove();
    byId("mute").hidden = false;
  }
}

const KEYS = [
  ["Space", "play or pause"], ["Left, Right", "the previous or next event"], ["Shift + Left, Right", "five seconds back or forward"],
  ["Home, End", "to the start or the end"], ["R", "the next refusal"], ["W", "the worst moment"], ["/", "filter"], ["+, -, 0", "zoom in, out, all"],
  ["L", "follow a session that is running"], ["T", "light or dark"], ["?", "show these keys"], ["Ctrl + wheel", "zoom at the pointer"], ["Shift + wheel", "move the timeline"],
];

function localTheme() {
  let kept = null;
  try { kept = localStorage.getItem("turnfsm-theme"); } catch { /* as above */ }
  return kept ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

const page = new Page(JSON.parse(byId("data").textContent));
if (page.data.mode === "journal") {
  page.open(page.data);
  page.seek(+(location.hash.match(/^#t=([\d.]+)/)?.[1] ?? page.data.at));
  setTimeout(() => page.listen(), 0);
} else if (page.data.mode === "flow") {
  page.studio = new Studio(page);
  page.studio.open(page.data);
} else if (page.data.mode === "live") {
  byId("title").textContent = "Waiting for a session";
  page.live = new Live(page);
  page.live.connect("");
}
