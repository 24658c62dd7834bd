// The flow's own lines, with the one that decided. One file may be written here: it has an editor.

class SourcePanel {
  constructor(box, name, files) {
    Object.assign(this, { box, name, files, editor: null, findings: [], lines: [], texts: [] });
    files.addEventListener("change", () => this.open(+files.value));
  }

  setup(flow) {
    const before = this.flow?.source.files[this.file]?.name;
    this.flow = flow;
    this.file = -1;
    const { files } = flow.source, options = files.map((file, n) => element("option", { value: n }, file.name));
    this.files.replaceChildren(...options);
    byId("files-box").hidden = options.length < 2;
    const again = files.findIndex((file) => file.name === before);
    if (files.length) this.open(Math.max(0, again));
  }

  get edited() {
    return this.editor !== null && this.flow?.source.files[this.file]?.name === this.editor.name;
  }

  open(file) {
    if (file === this.file) return;
    this.file = file;
    this.marked?.classList.remove("decided");
    this.marked = null;
    this.files.value = file;
    const { name, text } = this.flow.source.files[file];
    this.name.textContent = name;
    this.draw(this.edited ? this.editor.text : text);
  }

  // Lines that are as they were stay what they are.
  draw(text) {
    const texts = text.split(/\r\n|[\r\n\x85\u2028\u2029]/), old = this.texts;
    const most = Math.min(texts.length, old.length);
    let same = 0, tail = 0;
    while (same < most && texts[same] === old[same]) same++;
    while (tail < most - same && texts.at(-1 - tail) === old.at(-1 - tail)) tail++;
    const made = texts.slice(same, texts.length - tail).map((line) => {
      const code = element("code");
      code.append(...colored(line));
      return element("div", { class: "line" }, element("span", { class: "number" }), code);
    });
    this.lines = [...this.lines.slice(0, same), ...made, ...(tail ? this.lines.slice(-tail) : [])];
    this.texts = texts;
    this.lines.forEach((line, n) => (line.firstChild.textContent = n + 1));
    const all = element("div", { class: "all-lines", "aria-hidden": this.edited ? "true" : null }, ...this.lines);
    if (!this.edited) this.box.replaceChildren(all);
    else if (this.editor.area.isConnected) this.editor.area.previousSibling.replaceWith(all); // it keeps the focus
    else this.box.replaceChildren(element("div", { class: "paper" }, all, this.editor.area));
    this.annotate(this.findings);
  }

  // Findings stand under the lines that they are about; behind them where the file is written.
  annotate(findings) {
    this.findings = findings;
    for (const old of this.box.querySelectorAll(".finding")) old.remove();
    for (const line of this.lines) line.classList.remove("wrong");
    const name = this.flow?.source.files[this.file]?.name;
    for (const finding of findings) {
      if (finding.file !== name) continue;
      const line = this.lines[finding.line - 1];
      if (!line) continue;
      line.classList.add("wrong");
      const text = `${finding.severity}: ${finding.message}`;
      if (this.edited) line.append(element("span", { class: `finding ${finding.severity}` }, text));
      else line.after(element("p", { class: `finding ${finding.severity}` }, text + (finding.remedy ? `\n${finding.remedy}` : "")));
    }
    this.editor?.list(findings);
  }

  // Show a place: [file, line, column, width]; null shows none.
  show(place, look = true) {
    this.marked?.classList.remove("decided");
    this.marked = null;
    const writing = this.editor?.writing ?? false;
    if (!place || (writing && place[0] !== this.file)) return;
    this.open(place[0]);
    const line = this.lines[place[1] - 1];
    if (!line) return;
    line.classList.add("decided");
    this.marked = line;
    if (look && !writing && !this.looking) {
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
