// The planner's answers, and the form that asks for them.

const LAW_NAMES = Object.keys(CONSTANTS.laws);
const MOST_SETS = 10;
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

// Each answer: { built: [sets], bound: { value, name }, laws: [{ name, value, formula, extrapolated }], at: { k, d } }.
// Numbers of directions are decimal logarithms throughout.
function planDirections(d, epsilon) {
  const bound = largestCount(d, epsilon);
  const laws = LAW_NAMES.map((name) => {
    const { form, range } = CONSTANTS.laws[name];
    const formula = logK(form, d, epsilon) / Math.LN10;
    const value = Math.min(Math.max(formula, Math.log10(d)), bound.log10);
    return { name, value, formula, extrapolated: isExtrapolated(range, 10 ** formula, d) };
  });
  const full = laws.find(({ name }) => name === "full").value;
  return { built: constructionsWithin(d, epsilon), bound: { value: bound.log10, ...bound }, laws, at: { k: Math.round(10 ** Math.min(full, 300)), d } };
}

function planEpsilon(k, d) {
  const bound = lowerBound(k, d);
  const laws = LAW_NAMES.map((name) => {
    const { form, range } = CONSTANTS.laws[name];
    const formula = epsilonFor(form, k, d);
    return { name, value: clamp(formula, bound.value, 1), formula, extrapolated: k > d && isExtrapolated(range, k, d) };
  });
  return { built: constructionsHolding(k, d), bound, laws, at: { k, d } };
}

function planDimension(k, epsilon) {
  const bound = dimensionBound(k, epsilon);
  const laws = LAW_NAMES.map((name) => {
    const { form, range } = CONSTANTS.laws[name];
    const formula = dimensionFor(form, k, epsilon);
    return { name, value: Math.max(formula, bound.d), formula, extrapolated: isExtrapolated(range, k, formula) };
  });
  const full = laws.find(({ name }) => name === "full").value;
  return { built: constructionsNeeding(k, epsilon), bound: { value: bound.d, ...bound }, laws, at: { k, d: Math.max(2, Math.ceil(full * (1 - 1e-12))) } };
}

function formatCount(log10, k = null) {
  if (k !== null && k < 1e9) return k.toLocaleString("en");
  if (log10 >= 300) return `10^${log10.toFixed(1)}`;
  if (log10 < 6) {
    const count = 10 ** log10;
    return count < 999.5 ? String(Number(count.toPrecision(3))) : count.toFixed(0);
  }
  return (10 ** log10).toExponential(2).replace("e+", "e");
}

const formatCosine = (value) => value.toFixed(6);

// Rounded up (1) where a coherence is reached and down (-1) where less is impossible; 0.015625 is no more than it reads.
function formatOutward(value, direction) {
  const scaled = value * 1e6;
  const near = Math.abs(scaled - Math.round(scaled)) < 1e-6;
  return ((near ? Math.round(scaled) : direction > 0 ? Math.ceil(scaled) : Math.floor(scaled)) / 1e6).toFixed(6);
}

const formatDimension = (value) => (Number.isInteger(value) ? String(value) : value.toPrecision(6));

// How each question is asked and answered.
const QUESTIONS = {
  k: {
    plan: ({ d, epsilon }) => planDirections(d, epsilon),
    format: formatCount,
    ofSet: (set) => [set.log10, formatCount(set.log10, set.k)],
    ofBound: (bound) => formatCount(bound.log10, bound.k),
    ends: ["at least, by construction", "at most, proven"],
    sets: ({ d, epsilon }) => `Explicit constructions in R^${d} with every |cosine| ≤ ${epsilon}`,
    at: ", the full law’s answer",
    axis: "log₁₀ of the number of directions",
    place: (log10) => log10,
    summary: ({ d, epsilon }, built, most) =>
      `At least ${built} directions can be built in R^${d} with every |cosine| ≤ ${epsilon}. More than ${most} are impossible.`,
  },
  epsilon: {
    plan: ({ k, d }) => planEpsilon(k, d),
    format: formatCosine,
    ofSet: (set) => [set.coherence, formatOutward(set.coherence, 1)],
    ofBound: (bound) => formatOutward(bound.value, -1),
    ends: ["at most, by construction", "at least, proven"],
    sets: ({ k, d }) => `Explicit constructions that hold ${formatCount(Math.log10(k), k)} directions in R^${d}`,
    at: "",
    axis: "epsilon, the largest absolute cosine",
    place: (epsilon) => epsilon,
    summary: ({ k, d }, built, most) =>
      `${formatCount(Math.log10(k), k)} directions in R^${d} can be built with every |cosine| ≤ ${built}. Below ${most} it is impossible.`,
  },
  d: {
    plan: ({ k, epsilon }) => planDimension(k, epsilon),
    format: formatDimension,
    ofSet: (set) => [set.d, formatDimension(set.d)],
    ofBound: (bound) => formatDimension(bound.d),
    ends: ["enough, by construction", "impossible below, proven"],
    sets: ({ k, epsilon }) => `Explicit constructions that hold ${formatCount(Math.log10(k), k)} directions with every |cosine| ≤ ${epsilon}`,
    at: ", the full law’s answer",
    axis: "dimension d",
    place: (d) => Math.log10(d),
    summary: ({ k, epsilon }, built, most) =>
      `${formatCount(Math.log10(k), k)} directions with every |cosine| ≤ ${epsilon} need d = ${built} if built. Below d = ${most} it is impossible.`,
  },
};

const form = document.getElementById("planner-form");
const part = (name) => document.getElementById(`planner-${name}`);

// The numbers that were given, or an Error whose message says what is wanted.
function readNumber(name) {
  const text = form.elements[name].value.trim();
  const [over, under, ...rest] = text.split("/");
  const value = under === undefined ? Number(over) : Number(over) / Number(under);
  const [low, high] = name === "k" ? [1, CONSTANTS.largest_k] : CONSTANTS[name];
  const whole = name === "epsilon" || Number.isInteger(value);
  if (text === "" || rest.length || !whole || !(value >= low && value <= high)) {
    const kind = name === "epsilon" ? "a number" : "a whole number";
    const range = `${low} to ${high}`.replace("e+", "e");
    throw Object.assign(new Error(`${name}: give ${kind} from ${range}`), { field: name });
  }
  return value;
}

function setRows(table, rows) {
  table.tBodies[0].replaceChildren(...rows.map((cells) => {
    const row = document.createElement("tr");
    cells.forEach((cell, place) => {
      const made = document.createElement(place ? "td" : "th");
      if (!place) made.scope = "row";
      const [value, text] = Array.isArray(cell) ? cell : [null, cell];
      made.textContent = text;
      if (value !== null) {
        made.dataset.value = String(value);
        made.className = "number";
      }
      row.append(made);
    });
    return row;
  }));
}

function lawRows(question, answer) {
  const [first, last] = question.ends;
  const best = answer.built[0];
  return [
    [first, best ? question.ofSet(best) : [null, `more than ${CONSTANTS.d[1]}`], best ? best.name : "–"],
    ...answer.laws.map(({ name, value, formula, extrapolated }) => [
      extrapolated ? `${name} *` : name, [value, question.format(value)], [formula, question.format(formula)],
    ]),
    [last, [answer.bound.value, question.ofBound(answer.bound)], answer.bound.name],
  ];
}

function noteText(answer, given) {
  const byRange = new Map();
  for (const { name, extrapolated } of answer.laws) {
    const { words } = CONSTANTS.laws[name].range;
    if (extrapolated) byRange.set(words, [...(byRange.get(words) ?? []), name]);
  }
  const notes = [...byRange].map(([words, names]) => `* extrapolated: ${names.join(", ")} beyond ${words}.`);
  if (given.epsilon > CONSTANTS.class_one_above) {
    notes.push(`An epsilon above ${CONSTANTS.class_one_above} is class 1: the published laws say nothing there (arXiv 2606.02765).`);
  }
  return notes.join(" ");
}

const SVG = "http://www.w3.org/2000/svg";
function shape(name, attributes, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

// The bracket as a bar between construction and bound, the laws as dots on a line each.
function drawFigure(question, answer, summary) {
  const ends = [...(answer.built[0] ? [question.ofSet(answer.built[0])[0]] : []), answer.bound.value];
  const placed = [...ends, ...answer.laws.map(({ value }) => value)].map(question.place).filter(Number.isFinite);
  const low = Math.min(...placed);
  const high = Math.max(...placed, low + 1e-9);
  const across = (value) => 120 + (490 * (question.place(value) - low)) / (high - low);
  const marks = [];
  const line = (name, value, y, kind) => {
    if (!Number.isFinite(question.place(value))) return;
    marks.push(shape("text", { x: 110, y: y + 4, "text-anchor": "end" }, name));
    marks.push(shape("circle", { cx: across(value), cy: y, r: 5, class: kind }));
  };
  if (ends.length === 2) {
    const [left, right] = ends.map(across).sort((a, b) => a - b);
    marks.push(shape("rect", { x: left, y: 8, width: Math.max(right - left, 1), height: 150, class: "bracket" }));
    line("built", ends[0], 20, "end");
  }
  answer.laws.forEach(({ name, value }, place) => line(name, value, 38 + 18 * place, "law"));
  line("bound", answer.bound.value, 146, "end");
  marks.push(shape("line", { x1: 120, x2: 610, y1: 160, y2: 160, class: "axis" }));
  const label = (value) => (question === QUESTIONS.d ? String(Math.round(10 ** value)) : Number(value.toPrecision(4)));
  marks.push(shape("text", { x: 120, y: 176, "text-anchor": "start" }, label(low)));
  marks.push(shape("text", { x: 610, y: 176, "text-anchor": "end" }, label(high)));
  marks.push(shape("text", { x: 365, y: 176, "text-anchor": "middle" }, question.axis));
  const figure = part("figure");
  figure.replaceChildren(figure.firstElementChild, ...marks);
  figure.firstElementChild.textContent = `The bracket. ${summary}`;
}

function showAnswer(question, answer, given) {
  const best = answer.built[0];
  const built = best ? question.ofSet(best)[1] : `more than ${CONSTANTS.d[1]}`;
  const origin = best ? `Construction: ${best.name} (${best.source}). ` : "";
  const summary = `${question.summary(given, built, question.ofBound(answer.bound))} ${origin}Bound: ${answer.bound.name}.`;
  part("summary").textContent = summary;
  part("notes").textContent = noteText(answer, given);
  setRows(part("laws"), lawRows(question, answer));
  const { k, d } = answer.at;
  part("bounds").caption.textContent = `Proven bounds at k = ${formatCount(Math.log10(k), k)}, d = ${d}${question.at}`;
  setRows(part("bounds"), allBounds(k, d).map(({ name, value }) => [name, [value, value ? formatOutward(value, -1) : "–"]]));
  part("constructions").caption.textContent = question.sets(given);
  setRows(part("constructions"), answer.built.slice(0, MOST_SETS).map((set) => [
    set.name, [set.d, String(set.d)], [set.log10, formatCount(set.log10, set.k)], [set.coherence, formatOutward(set.coherence, 1)], set.source,
  ]));
  drawFigure(question, answer, summary);
}

function update() {
  const find = form.elements.find.value;
  const question = QUESTIONS[find];
  for (const field of form.querySelectorAll("[data-field]")) field.hidden = field.dataset.field === find;
  const wanted = ["d", "epsilon", "k"].filter((name) => name !== find);
  for (const name of ["d", "epsilon", "k"]) form.elements[name].removeAttribute("aria-invalid");
  let problem = "";
  try {
    const given = Object.fromEntries(wanted.map((name) => [name, readNumber(name)]));
    showAnswer(question, question.plan(given), given);
  } catch (error) {
    if (!error.field) throw error;
    problem = error.message;
    form.elements[error.field].setAttribute("aria-invalid", "true");
  }
  part("problem").textContent = problem;
  part("problem").hidden = problem === "";
  part("answer").hidden = problem !== "";
}

form.addEventListener("input", update);
form.addEventListener("submit", (event) => event.preventDefault());
update();
