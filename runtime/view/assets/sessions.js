// The sessions that are shown, the one with the most trouble first.

const COLUMNS = ["session", "status", "longest silence", "silence", "refusals", "limits", "failures"];

class SessionList {
  constructor(box, onChoose) {
    Object.assign(this, { box, onChoose, key: null });
    const head = element("tr", {}, ...COLUMNS.map((name) => element("th", { scope: "col" }, name)));
    this.rows = element("tbody");
    const note = element("p", { class: "quiet" }, "Silence: seconds in which somebody waited for the agent, in silences of more than 2 s. Click a session to see it; a finished one opens at its worst moment.");
    box.append(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Sessions by trouble" }, element("table", {}, element("thead", {}, head), this.rows), note));
  }

  show(sessions) {
    const focused = document.activeElement?.dataset.session;
    this.rows.replaceChildren(...sessions.map((one) => this.row(one)));
    this.mark(this.key);
    if (focused !== undefined) this.box.querySelector(`[data-session="${CSS.escape(focused)}"]`)?.focus();
  }

  row(one) {
    const count = (n) => element("td", { class: n ? "some" : "none" }, n ? String(n) : "-");
    const [longest, cause] = one.longest ?? [0, ""];
    const name = element("button", { type: "button", class: "link", "data-session": one.key }, one.title);
    const row = element("tr", { "data-key": one.key, onclick: () => this.onChoose(one) },
      element("th", { scope: "row" }, name),
      element("td", { class: / error|cut off/.test(one.how) ? "some" : "none" }, one.ended ? one.how || "over" : "running"),
      element("td", { class: longest ? "some" : "none" }, longest ? `${longest.toFixed(2)} s: ${cause}` : "-"),
      element("td", { class: one.waited ? "some" : "none" }, one.waited ? `${one.waited.toFixed(2)} s` : "-"),
      count(one.refusals), count(one.limits), count(one.failures));
    return row;
  }

  // The session that is on the page.
  mark(key) {
    this.key = key;
    for (const row of this.rows.children) row.classList.toggle("shown", row.dataset.key === key);
  }

  // Show the list in place of the conversation, or the conversation.
  toggle(on = this.box.hidden) {
    this.box.hidden = !on;
    document.body.classList.toggle("listing", on);
    byId("sessions-open").setAttribute("aria-pressed", String(on));
  }
}
