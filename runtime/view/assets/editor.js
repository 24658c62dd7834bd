// The file that is written on the page: an area of text over its coloured lines.

const KEPT = "turnfsm-playground";

class Editor {
  constructor(source, { name, text, starts }, onEdit) {
    Object.assign(this, { source, name, onEdit });
    this.area = element("textarea", { id: "editor", "aria-label": `Edit ${name}`, spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off" });
    this.area.value = kept() ?? text;
    this.area.addEventListener("input", () => this.input());
    byId("source").removeAttribute("tabindex");
    const choice = byId("starts");
    choice.append(element("option", { value: "" }, "choose"), ...starts.map((start, n) => element("option", { value: n }, start.name)));
    choice.addEventListener("change", () => this.replace(starts[+choice.value].text));
    byId("starts-box").hidden = byId("save").hidden = false;
    byId("save").addEventListener("click", () => this.save());
  }

  get text() {
    return this.area.value;
  }

  get writing() {
    return document.activeElement === this.area;
  }

  input() {
    keep(this.text);
    this.source.draw(this.text);
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.onEdit(this.text), 150);
  }

  // Another text; what was there can be had again with undo.
  replace(text) {
    byId("starts").value = "";
    const own = this.source.flow.source.files.findIndex((file) => file.name === this.name);
    this.source.open(own);
    this.area.focus();
    this.area.select();
    if (!document.execCommand("insertText", false, text)) {
      this.area.value = text;
      this.input();
    }
    this.area.setSelectionRange(0, 0);
    this.source.box.scrollTop = 0;
  }

  list(findings) {
    const box = byId("problems");
    box.hidden = !findings.length;
    box.replaceChildren(...findings.map((finding) => element("li", { class: `problem ${finding.severity}` }, element("button", { type: "button", class: "link", onclick: () => this.go(finding) }, finding.line ? `${finding.file}:${finding.line}` : finding.file), ` ${finding.severity}: ${finding.message}`, finding.remedy && element("span", { class: "quiet pre" }, `\n${finding.remedy}`))));
  }

  // To the line of a finding.
  go({ file, line }) {
    const { source } = this, n = source.flow.source.files.findIndex((one) => one.name === file);
    if (n < 0) return;
    this.area.blur();
    source.show([n, line, 1, 1]);
    if (!source.edited) return;
    const start = this.text.split("\n").slice(0, line - 1).join("\n").length + (line > 1);
    this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(start, start + source.texts[line - 1].length);
  }

  save() {
    const url = URL.createObjectURL(new Blob([this.text], { type: "application/yaml" }));
    element("a", { href: url, download: this.name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }
}

function kept() {
  try { return localStorage.getItem(KEPT); } catch { return null; }
}

function keep(text) {
  try { localStorage.setItem(KEPT, text); } catch { /* a page without storage forgets */ }
}
