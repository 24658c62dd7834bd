// A flow by itself: its table, its proof, counterexamples stepped through, and a machine to press.

class Studio {
  constructor(page) {
    this.page = page;
    this.presses = [];
    this.host = new Set();
    this.ready = false;
    document.body.classList.add("flow");
    const names = [["picture", "Picture"], ["matrix", "Matrix"], ["proof", "Proof"]];
    byId("flow-tabs").append(...names.map(([id, name]) => element("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": id, "aria-selected": String(id === "picture") }, name)));
    page.tabs(...names.map(([id]) => `tab-${id}`));
    this.back = this.backend(page.data);
    document.body.classList.toggle("served", this.back !== null);
    byId("simulator").hidden = this.back === null;
  }

  backend({ served, worker, editor }) {
    const trouble = (words, more) => this.status(words, "bad", more);
    if (served) return new ServerBackend({ flow: (data) => { this.status(""); this.open(data); }, trouble });
    if (!worker) return null;
    const { source } = this.page;
    document.body.classList.add("editing");
    this.status("loading Python", "plain", "13 MB, from this site");
    let shown = editor.text;
    const back = new WorkerBackend(worker, editor.name, {
      flow: (data, text) => {
        if (text !== shown) this.open(data);
        shown = text;
      },
      trouble,
      busy: (on) => this.ready && this.status(on && "proving", "plain"),
      ready: () => (this.ready = true),
    });
    source.editor = new Editor(source, editor, (text) => back.edit(text));
    back.edit(editor.text);
    if (source.editor.text !== editor.text) back.edit(source.editor.text);
    return back;
  }

  // The flow was loaded, or saved: what was pressed is pressed again.
  open(data) {
    const { page } = this;
    page.open(data);
    page.seek(0);
    this.matrix(data.matrix);
    this.proof(data.report);
    page.source.annotate(data.report.findings);
    this.summary(data.report);
    this.panel(data.simulation);
    if (this.presses.length) this.run();
    else if (this.back === null) this.first(data.report);
  }

  first(report) {
    const finding = report.findings.find((one) => one.example);
    if (finding) this.step(finding);
  }

  badge(words, kind, more) {
    this.result = element("span", { class: `badge ${kind}`, title: more ?? "" }, words);
    this.badges();
  }

  // What the other side is at, beside the result.
  status(words, kind, more) {
    this.doing = words ? element("span", { class: `badge ${kind}`, title: more ?? "" }, more && kind === "bad" ? `${words}: ${more}` : words) : "";
    this.badges();
  }

  badges() {
    byId("badges").replaceChildren(this.result ?? "", this.doing ?? "");
  }

  summary(report) {
    const errors = report.findings.filter((one) => one.severity === "error").length;
    if (!report.loaded) this.badge("not a flow", "bad");
    else if (report.ok) this.badge(`proved: ${report.configurations} configurations in ${report.seconds.toFixed(2)} s`, "good");
    else this.badge(`${errors} error${errors === 1 ? "" : "s"}`, "bad");
    byId("tab-proof").textContent = report.findings.length ? `Proof (${report.findings.length})` : "Proof";
  }

  matrix({ states, rows }) {
    const head = element("tr", {}, element("th", { scope: "col" }, "trigger"), ...states.map((s) => element("th", { scope: "col" }, s)));
    const cell = (row, one, n) => {
      const state = states[n], place = () => this.page.recording.flow.source.at[`${state}.${row.trigger}.0`] ?? this.page.recording.flow.source.at[`${state}.${row.trigger}`];
      const lines = one.lines.flatMap((line, k) => (k ? [element("br"), line] : [line]));
      return element("td", { class: `cell ${one.kind.replace(" ", "-")}` }, element("button", { type: "button", class: "cell-button", onclick: () => this.page.source.show(place()) }, ...lines));
    };
    const body = rows.map((row) => element("tr", {}, element("th", { scope: "row" }, row.label), ...row.cells.map((one, n) => cell(row, one, n))));
    byId("matrix").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
  }

  proof(report) {
    const findings = report.findings.map((finding) => {
      const at = element("button", { type: "button", class: "link", onclick: () => this.at(finding) }, finding.line ? `${finding.file}:${finding.line}` : finding.file);
      const way = finding.example && element("button", { type: "button", onclick: () => this.step(finding) }, `Step through ${finding.example.records.length} steps`);
      return element("li", { class: `problem ${finding.severity}` }, element("p", {}, at, ` ${finding.severity}: `, element("b", {}, finding.message)), finding.remedy && element("p", { class: "quiet pre" }, finding.remedy), ...(finding.example?.quiet ?? []).map((line) => element("p", { class: "quiet" }, line)), way);
    });
    const properties = report.properties.map((one) => element("tr", {}, element("td", {}, element("span", { class: `tag ${one.result === "fails" ? "refused" : ""}` }, one.result)), element("th", { scope: "row" }, one.name.replaceAll("_", " ")), element("td", {}, one.detail)));
    const summary = report.loaded ? `${report.configurations} configurations, ${report.transitions} transitions, ${report.seconds.toFixed(2)} s.` : "The file cannot be loaded; this is the picture of its last valid version.";
    const head = element("tr", {}, ...["result", "property", "detail"].map((name) => element("th", { scope: "col" }, name)));
    byId("proof").replaceChildren(element("p", { class: "quiet" }, summary), element("ul", { class: "problems" }, ...findings), properties.length ? element("table", {}, element("thead", {}, head), element("tbody", {}, ...properties)) : "");
  }

  at(finding) {
    const file = this.page.recording.flow.source.files.findIndex((one) => one.name === finding.file);
    if (file >= 0) this.page.source.show([file, finding.line, 1, 1]);
  }

  // A counterexample, as a recording that leads to the fault.
  step(finding) {
    this.page.tab("tab-picture");
    this.page.swap(finding.example.records);
    this.page.pick(0);
    byId("said").textContent = `A counterexample of ${finding.example.records.length} steps.`;
  }

  async run() {
    let simulation;
    try {
      simulation = await this.back.simulate(this.presses);
    } catch (error) {
      return this.status(error.message, "bad");
    }
    this.page.swap(simulation.records);
    if (simulation.records.length) this.page.pick(simulation.records.length - 1);
    else this.page.seek(0);
    this.panel(simulation);
  }

  // A scene is played from its start; after a change of the flow it is pressed again.
  async play({ presses }) {
    this.presses = [...presses];
    await this.run();
    if (evidenceOf(this.page.recording).length) this.page.tab("tab-evidence");
    this.page.seek(0);
    if (!this.page.player.playing) this.page.player.toggle();
  }

  press(trigger) {
    this.presses.push({ trigger, host: [...this.host], stale: byId("stale").checked });
    byId("stale").checked = false;
    return this.run();
  }

  // The settings of an agent, of tools and of a question hold from now on, or no longer.
  tune(owners) {
    const on = (kind) => owners.filter((one) => one.kind === kind && one.on).map((one) => one.name);
    this.presses.push({ owners: { agent: on("agent")[0] ?? null, tools: on("tool"), question: on("question")[0] ?? null } });
    return this.run();
  }

  panel({ moves, host, trouble, scenes, owners }) {
    if (byId("simulator").hidden) return;
    const { triggers, timers } = this.page.recording.flow;
    const button = (move) => element("button", { type: "button", class: `press ${move.taken ? "taken" : "not"}`, title: `${triggers[move.trigger]?.is ?? `${timers[move.trigger]} s`}\n${move.says}`, onclick: () => this.press(move.trigger) }, move.trigger);
    const group = (kind, name) => {
      const own = moves.filter((move) => move.kind === kind);
      return own.length ? [element("h2", {}, name), element("div", { class: "chips" }, ...own.map(button))] : [];
    };
    const fact = (name) => {
      const box = element("input", { type: "checkbox", onchange: () => (box.checked ? this.host.add(name) : this.host.delete(name)) });
      box.checked = this.host.has(name);
      return element("label", { class: "chip" }, box, ` ${name}`);
    };
    const owner = (one) => {
      const change = () => this.tune(owners.map((other) => (other === one ? { ...one, on: box.checked } : { ...other, on: other.on && (one.kind === "tool" || other.kind !== one.kind) })));
      const box = element("input", { type: "checkbox", onchange: change });
      box.checked = one.on;
      return element("label", { class: "chip" }, box, ` ${one.kind} ${one.name}`);
    };
    const tuned = owners.length ? [element("h2", {}, "Whose settings hold from now on"), element("div", { class: "chips" }, ...owners.map(owner))] : [];
    const reset = element("button", { type: "button", onclick: () => { this.presses = []; this.run(); } }, "Reset");
    const undo = element("button", { type: "button", onclick: () => { this.presses.pop(); this.run(); } }, "Undo");
    const stale = element("label", { class: "field" }, element("input", { type: "checkbox", id: "stale" }), " of the previous step");
    const played = scenes.map((one) => element("button", { type: "button", class: "press", onclick: () => this.play(one) }, one.name));
    const scene = played.length ? [element("h2", {}, "Play"), element("div", { class: "chips" }, ...played)] : [];
    const moved = [...scene, ...group("request", "Requests"), ...group("event", "Events"), ...group("timer", "Timers")];
    const facts = host.length ? [element("h2", {}, "Values of the host facts from now on"), element("div", { class: "chips" }, ...host.map(fact))] : [];
    byId("simulator").replaceChildren(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Press a trigger" }, element("div", { class: "bar" }, element("b", {}, "Press a trigger"), element("span", { class: "spring" }), stale, undo, reset), trouble && element("p", { class: "reason" }, trouble), ...moved, ...facts, ...tuned));
  }
}
