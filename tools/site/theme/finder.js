// Finds sections of the documents by the words in them. `sections` is put before this by hook.py:
// [address, page, heading, text]. Works on pages that are opened as files, too.
const finder = document.querySelector(".finder");
const field = finder.querySelector("input");
const list = finder.querySelector("ol");
const most = 12;

// The narrow layout begins with its contents closed.
const side = document.getElementById("side");
const wide = window.matchMedia("(min-width: 60rem)");
const place = () => { side.open = wide.matches; };
wide.addEventListener("change", place);
place();

function score(section, words) {
  const [, page, heading, text] = section.map((part) => part.toLowerCase());
  let total = 0;
  for (const word of words) {
    if (heading === word) total += 40;
    else if (heading.startsWith(word)) total += 20;
    else if (heading.includes(word)) total += 10;
    else if (page.includes(word)) total += 4;
    else if (text.includes(word)) total += 1;
    else return 0;
  }
  return total;
}

function extract(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 30);
  return (at ? "…" : "") + text.slice(at, at + 90) + (text.length > at + 90 ? "…" : "");
}

function entry([address, page, heading, text], word) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  const note = document.createElement("span");
  link.href = finder.dataset.base + "/" + address;
  link.textContent = heading === page ? page : page + " › " + heading;
  note.textContent = extract(text, word);
  link.append(note);
  item.append(link);
  return item;
}

function find() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = !words.length ? [] : sections
    .map((section) => [score(section, words), section])
    .filter(([points]) => points)
    .sort((a, b) => b[0] - a[0])
    .slice(0, most);
  list.replaceChildren(...found.map(([, section]) => entry(section, words[0])));
  list.hidden = !found.length;
}

field.addEventListener("input", find);
field.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { field.value = ""; find(); }
  if (event.key === "Enter" && list.firstChild) list.querySelector("a").click();
});
list.addEventListener("click", () => { list.hidden = true; });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== field) { event.preventDefault(); field.focus(); }
});
