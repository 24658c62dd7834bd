// A flow by itself: its table, its proof, counterexamples stepped through, and a machine to press.

class Studio {
  constructor(page) {
    this.page = page;
    this.presses = [];
    this.host = new Set();
    document.body.classList.add("flow");
    document.body.classList.toggle("served", page.data.served === true);
    const names = [["picture", "Picture"], ["matrix", "Matrix"], ["proof", "Proof"]];
    byId("flow-tabs").append(...names.map(([id, name]) => element("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": id, "aria-selected": String(id === "picture") }, name)));
    page.tabs(...names.map(([id]) => `tab-${id}`));
    if (page.data.served) this.listen();
  }

  listen() {
    byId("simulator").hidden = false;
    this.source = new EventSource(`events${location.search}`);
    this.source.onmessage = (event) => {
      const { flow } = JSON.parse(event.data);
      if (flow) this.open(flow);
    };
    this.source.onerror = () => this.badge("no connection", "bad");
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
    else if (!data.served && !this.source) this.first(data.report);
  }

  first(report) {
    const finding = report.findings.find((one) => one.example);
    if (finding) this.step(finding);
  }

  badge(words, kind, more) {
    byId("badges").replaceChildren(element("span", { class: `badge ${kind}`, title: more ?? "" }, words));
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
      const at = element("button", { type: "button", class: "link", onclick: () => this.at(finding) }, `${finding.file}:${finding.line}`);
      const way = finding.example && element("button", { type: "button", onclick: () => this.step(finding) }, `Step through ${finding.example.records.length} steps`);
      return element("li", { class: `problem ${finding.severity}` }, element("p", {}, at, ` ${finding.severity}: `, element("b", {}, finding.message)), finding.remedy && element("p", { class: "quiet pre" }, finding.remedy), ...(finding.example?.quiet ?? []).map((line) => element("p", { class: "quiet" }, line)), way);
    });
    const properties = report.properties.map((one) => element("tr", {}, element("td", {}, element("span", { class: `tag ${one.result === "fails" ? "refused" : ""}` }, one.result)), element("th", { scope: "row" }, one.name.replaceAll("_", " ")), element("td", {}, one.detail)));
    const told = report.loaded ? `${report.configurations} configurations, ${report.transitions} transitions, ${report.seconds.toFixed(2)} s.` : "The file cannot be loaded; the picture is the last one that could.";
    const head = element("tr", {}, ...["result", "property", "detail"].map((name) => element("th", { scope: "col" }, name)));
    byId("proof").replaceChildren(element("p", { class: "quiet" }, told), element("ul", { class: "problems" }, ...findings), properties.length ? element("table", {}, element("thead", {}, head), element("tbody", {}, ...properties)) : "");
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
    const answer = await fetch(`simulate${location.search}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ presses: this.presses }) });
    if (!answer.ok) return this.badge(await answer.text(), "bad");
    const simulation = await answer.json();
    this.page.swap(simulation.records);
    if (simulation.records.length) this.page.pick(simulation.records.length - 1);
    else this.page.seek(0);
    this.panel(simulation);
  }

  press(trigger) {
    this.presses.push({ trigger, host: [...this.host], stale: byId("stale").checked });
    byId("stale").checked = false;
    return this.run();
  }

  panel({ moves, host, trouble }) {
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
    const reset = element("button", { type: "button", onclick: () => { this.presses = []; this.run(); } }, "Reset");
    const undo = element("button", { type: "button", onclick: () => { this.presses.pop(); this.run(); } }, "Undo");
    const stale = element("label", { class: "field" }, element("input", { type: "checkbox", id: "stale" }), " of the step before");
    const moved = [...group("request", "Requests"), ...group("event", "Events"), ...group("timer", "Timers")];
    const facts = host.length ? [element("h2", {}, "What the host answers from now on"), element("div", { class: "chips" }, ...host.map(fact))] : [];
    byId("simulator").replaceChildren(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Press a trigger" }, element("div", { class: "bar" }, element("b", {}, "Press a trigger"), element("span", { class: "spring" }), stale, undo, reset), trouble && element("p", { class: "reason" }, trouble), ...moved, ...facts));
  }
}
