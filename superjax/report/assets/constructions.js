// Explicit sets of lines of known coherence: the table is the library's, axes, simplex and polygon are formulas.

const CONSTRUCTIONS = CONSTANTS.families.flatMap((family, number) =>
  family.rows.map(([d, k, inverseSquare, ...numbers]) => {
    let place = 0;
    return {
      family: number,
      name: family.words.replace(/#/g, () => numbers[place++]),
      source: family.source,
      d,
      k: typeof k === "number" ? k : null,
      log10: typeof k === "number" ? Math.log10(k) : k.log10,
      coherence: 1 / Math.sqrt(inverseSquare),
    };
  }),
);

function axes(d) {
  return { family: "axes", name: `cross-polytope axes in R^${d}`, source: "orthonormal", d, k: d, log10: Math.log10(d), coherence: 0 };
}

function simplex(d) {
  return { family: "simplex", name: `simplex in R^${d}`, source: "regular simplex", d, k: d + 1, log10: Math.log10(d + 1), coherence: 1 / d };
}

function polygon(k) {
  const name = k < 1e9 ? `regular ${2 * k}-gon` : "regular 2k-gon";
  return { family: "polygon", name, source: "exact", d: 2, k, log10: Math.log10(k), coherence: k > 2 ? Math.cos(Math.PI / k) : 0 };
}

function holds(found, k) {
  return found.k === null ? found.log10 >= Math.log10(k) : found.k >= k;
}

// One of each family, the first of them by the order given.
function firstOfEachFamily(found, order) {
  const seen = new Set();
  return found.sort(order).filter(({ family }) => !seen.has(family) && seen.add(family));
}

// What fits in R^d at this coherence, most lines first.
function constructionsWithin(d, epsilon) {
  const allowed = attained(epsilon);
  const lines = Math.floor(Math.PI / Math.acos(allowed));
  const candidates = [axes(d), simplex(d), ...CONSTRUCTIONS.filter((each) => each.d <= d), ...(lines > 2 ? [polygon(lines)] : [])];
  return firstOfEachFamily(candidates.filter((each) => each.coherence <= allowed), (a, b) => b.log10 - a.log10);
}

// What holds k lines in R^d, least coherence first.
function constructionsHolding(k, d) {
  if (k <= d) return [axes(d)];
  const candidates = [simplex(d), ...CONSTRUCTIONS.filter((each) => each.d <= d), polygon(k)];
  return firstOfEachFamily(candidates.filter((each) => holds(each, k)), (a, b) => a.coherence - b.coherence || a.log10 - b.log10);
}

// What holds k lines at this coherence, smallest dimension first; of those the table and the form know.
function constructionsNeeding(k, epsilon) {
  const allowed = attained(epsilon);
  const found = CONSTRUCTIONS.filter((each) => holds(each, k) && each.coherence <= allowed);
  const most = CONSTANTS.d[1];
  if (k <= most) found.push(axes(Math.max(k, 1)));
  const dimension = Math.max(k - 1, Math.ceil(1 / allowed));
  if (dimension <= most && dimension >= 2) found.push(simplex(dimension));
  if (k > 2 && polygon(k).coherence <= allowed) found.push(polygon(k));
  return firstOfEachFamily(found, (a, b) => a.d - b.d || a.coherence - b.coherence || a.log10 - b.log10);
}
