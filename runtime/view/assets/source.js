// The flow's own lines, with the one that decided.

class SourcePanel {
  constructor(box, name, files) {
    Object.assign(this, { box, name, files });
    files.addEventListener("change", () => this.open(+files.value));
  }

  setup(flow) {
    this.flow = flow;
    this.file = -1;
    this.marked = null;
    this.findings = this.findings ?? [];
    const options = flow.source.files.map((file, n) => element("option", { value: n }, file.name));
    this.files.replaceChildren(...options);
    byId("files-box").hidden = options.length < 2;
    if (options.length) this.open(0);
  }

  open(file) {
    if (file === this.file) return;
    this.file = file;
    this.marked = null;
    this.files.value = file;
    const { name, text } = this.flow.source.files[file];
    this.name.textContent = name;
    this.lines = text.split(/\r\n|[\r\n\x85\u2028\u2029]/).map((line, n) => {
      const code = element("code");
      code.append(...colored(line));
      return element("div", { class: "line" }, element("span", { class: "number", "aria-hidden": "true" }, n + 1), code);
    });
    this.box.replaceChildren(...this.lines);
    this.annotate(this.findings);
  }

  // Findings stand under the lines that they are about.
  annotate(findings) {
    this.findings = findings;
    for (const old of this.box.querySelectorAll(".finding")) old.remove();
    for (const line of this.lines ?? []) line.classList.remove("wrong");
    const name = this.flow?.source.files[this.file]?.name;
    for (const finding of findings) {
      if (finding.file !== name) continue;
      const line = this.lines[finding.line - 1];
      if (!line) continue;
      line.classList.add("wrong");
      const told = `${finding.severity}: ${finding.message}${finding.remedy ? `\n${finding.remedy}` : ""}`;
      line.after(element("p", { class: `finding ${finding.severity}` }, told));
    }
  }

  // Show a place: [file, line, column, width]; null shows none.
  show(place, look = true) {
    this.marked?.classList.remove("decided");
    this.marked = null;
    if (!place) return;
    this.open(place[0]);
    const line = this.lines[place[1] - 1];
    if (!line) return;
    line.classList.add("decided");
    this.marked = line;
    if (look && !this.looking) {
      // after the frame, when nothing has to be laid out for it
      this.looking = setTimeout(() => {
        this.looking = 0;
        if (this.marked) this.box.scrollTop = this.marked.offsetTop - this.box.clientHeight * 0.4;
      });
    }
  }
}

// A line of YAML: keys and comments stand out.
function colored(line) {
  const comment = line.search(/(^|\s)#/);
  const body = comment < 0 ? line : line.slice(0, comment);
  const parts = [];
  let rest = 0;
  for (const found of body.matchAll(/[\w.$-]+(?=:(\s|$))/g)) {
    parts.push(body.slice(rest, found.index), element("span", { class: "key" }, found[0]));
    rest = found.index + found[0].length;
  }
  parts.push(body.slice(rest));
  if (comment >= 0) parts.push(element("span", { class: "comment" }, line.slice(comment)));
  return parts;
}
