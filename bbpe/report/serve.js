// The playground: what is typed is encoded as it changes, and the fragment of the address keeps it.
const LIMIT = 1 << 20;
const input = document.getElementById("text"), note = document.getElementById("note");
const choices = [...document.querySelectorAll("input[name=tokenizer]")];
const special = document.getElementById("special");
let asked = 0, waiting = 0, stepsAreOpen = false;

function chosen() {
  return choices.filter((choice) => choice.checked).map((choice) => choice.value);
}

function limitChoices() {
  const full = chosen().length >= 5;
  for (const choice of choices) choice.disabled = full && !choice.checked;
}

async function ask() {
  const number = ++asked;
  const names = chosen(), text = input.value;
  limitChoices();
  if (text.length < 4000) {
    const state = new URLSearchParams();
    state.set("text", text);
    for (const name of names) state.append("t", name);
    if (special.checked) state.set("special", "1");
    history.replaceState(null, "", `#${state}`);
  } else history.replaceState(null, "", "#");
  if (!names.length) {
    show(document.getElementById("view"), []);
    note.textContent = "Choose a tokenizer.";
    return;
  }
  try {
    const answer = await post("/tokens", { text, names, special: special.checked });
    const found = await answer.json();
    if (number !== asked) return;  // something newer was typed meanwhile
    if (!answer.ok) throw new Error(found.error);
    note.textContent = "";
    show(document.getElementById("view"), found);
    document.querySelectorAll(".column").forEach((column, place) => addSteps(column, names[place]));
  } catch (error) {
    if (number === asked) note.textContent = String(error.message || error);
  }
}

// How the tokens of a text are made, which the server draws when somebody asks for it.
function addSteps(column, name) {
  const root = document.createElement("details"), head = document.createElement("summary");
  const steps = document.createElement("div");
  head.textContent = "steps";
  root.append(head, steps);
  root.open = stepsAreOpen;
  const draw = async () => {
    if (!root.open || steps.firstChild) return;
    steps.textContent = "...";
    const answer = await post("/trace", { text: input.value, name, special: special.checked });
    const found = await answer.json();
    if (answer.ok) steps.innerHTML = found.html;
    else steps.textContent = found.error;
  };
  root.addEventListener("toggle", () => { stepsAreOpen = root.open; draw(); });
  draw();
  column.append(root);
}

function post(path, request) {
  return fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(request),
  });
}

function soon() {
  clearTimeout(waiting);
  waiting = setTimeout(ask, input.value.length > 20000 ? 400 : 60);
}

function restore() {
  const state = new URLSearchParams(location.hash.slice(1));
  if (state.has("text")) input.value = state.get("text");
  const names = state.getAll("t");
  if (names.length) for (const choice of choices) choice.checked = names.includes(choice.value);
  special.checked = state.has("special");
}

document.getElementById("file").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (!file) return;
  const part = file.slice(0, LIMIT);
  input.value = await part.text();
  await ask();
  if (file.size > LIMIT) note.textContent = `The first ${LIMIT.toLocaleString()} bytes of ${file.name}.`;
});
input.addEventListener("input", soon);
for (const choice of [...choices, special]) choice.addEventListener("change", ask);
addEventListener("hashchange", () => { restore(); ask(); });
restore();
ask();
