// The proven bounds of superjax.laws on the coherence of k lines in R^d. k is a whole number, exact below 2^53.

const MOST_LINES = 1e100; // the algebraic bounds are evaluated at most here, where floats still hold

function welch(k, d) {
  return k > d ? Math.sqrt((k - d) / (d * (k - 1))) : 0;
}

function orthoplex(k, d) {
  return k > (d * (d + 1)) / 2 ? 1 / Math.sqrt(d) : 0;
}

function bukhCox(k, d) {
  const r = k - d;
  return r > 0 ? (r * (r + 1)) / (2 * k + k * (r - 1) * Math.sqrt(2 + r) - r * (r + 1)) : 0;
}

function sidelnikov(k, d, order) {
  let moment = 1;
  for (let j = 0; j < order; j++) moment *= (2 * j + 1) / (d + 2 * j);
  const excess = k * moment - 1;
  return excess > 0 ? (excess / (k - 1)) ** (1 / (2 * order)) : 0;
}

function fejesToth(n) {
  return Math.min((Math.tan((Math.PI / 6) * (n / (n - 2))) ** -2 - 1) / 2, 1);
}

function capBound(k, d) {
  return Math.max(2 * inverseLogTail(-Math.log(k), d) ** 2 - 1, 0);
}

// C(d + level - 1, level), the number of lines at which a level of Levenshtein's hierarchy takes over.
function lineThreshold(d, level) {
  let found = 1;
  for (let i = 0; i < level; i++) found = (found * (d + i)) / (i + 1);
  return found < 2 ** 53 ? Math.round(found) : found;
}

// The largest eigenvalue in [0, 1] of a symmetric tridiagonal matrix: above it, all pivots of T - y are negative.
function largestEigenvalue(diagonal, squares) {
  const someAbove = (y) => {
    let pivot = 1;
    for (let i = 0; i < diagonal.length; i++) {
      pivot = diagonal[i] - y - (i ? squares[i - 1] / pivot : 0);
      if (pivot === 0) pivot = -1e-300;
      if (pivot > 0) return true;
    }
    return false;
  };
  return bisect((y) => (someAbove(y) ? -1 : 1), 0, 1);
}

function levenshteinLines(k, d) {
  if (k < d) return { value: 0, level: 0 };
  let level = 1;
  while (level < CONSTANTS.levels && k > lineThreshold(d, level + 1)) level++;
  const above = lineThreshold(d, level + 1);
  const below = lineThreshold(d, level - 1);
  const lines = Math.min(k, above);
  const degree = Math.floor((level + 1) / 2);
  const alpha = 0.5 * (d - 1);
  const beta = -0.5 + 1 - (level % 2);
  const s = alpha + beta;
  const rho = ((degree + alpha) * (degree + s)) / ((2 * degree + s) * (2 * degree + s - 1));
  const tau = (rho * (above - lines) * below) / ((lines - below) * above);
  const diagonal = [];
  const squares = [];
  for (let n = 0; n < degree; n++) {
    diagonal.push((2 * n * (n + s + 1) + s * (1 + beta)) / ((2 * n + s) * (2 * n + s + 2)));
    if (n) squares.push((n * (n + alpha) * (n + beta) * (n + s)) / ((2 * n + s) ** 2 * (2 * n + s + 1) * (2 * n + s - 1)));
  }
  diagonal[degree - 1] -= tau;
  return { value: Math.sqrt(largestEigenvalue(diagonal, squares)), level };
}

// The largest; the first of those equal to rounding, so that a closed form names the bound where two agree.
function bestBound(found) {
  const top = Math.max(...found.map((bound) => bound.value));
  return found.find((bound) => bound.value >= top - CONSTANTS.attained * Math.abs(top));
}

// All bounds but the volume bound, d >= 3, k > d.
function algebraicBounds(lines, d) {
  const k = Math.min(lines, MOST_LINES);
  const levenshtein = levenshteinLines(k, d);
  const found = [
    { name: "welch", value: welch(k, d) },
    { name: "bukh_cox", value: bukhCox(k, d) },
    { name: "orthoplex", value: orthoplex(k, d) },
    { name: `levenshtein_${levenshtein.level}`, value: levenshtein.value },
  ];
  if (d === 3) found.push({ name: "fejes_toth", value: fejesToth(2 * k) });
  return found;
}

// Every bound that says something at (k, d), for the table of bounds.
function allBounds(k, d) {
  if (k <= d) return [{ name: "orthonormal", value: 0 }];
  if (d === 2) return [{ name: "exact_d2", value: Math.cos(Math.PI / k) }, { name: "welch", value: welch(k, d) }];
  const sidelnikovs = [2, 3].map((order) => ({ name: `sidelnikov_${order}`, value: sidelnikov(Math.min(k, MOST_LINES), d, order) }));
  return [...algebraicBounds(k, d), ...sidelnikovs, { name: "cap", value: capBound(k, d) }];
}

function lowerBound(k, d) {
  if (k <= d) return { name: "orthonormal", value: 0 };
  if (d === 1) return { name: "one_line", value: 1 };
  if (d === 2) return { name: "exact_d2", value: Math.cos(Math.PI / k) };
  const best = bestBound(algebraicBounds(k, d));
  if (logTail(Math.sqrt(0.5 * (1 + best.value)), d) <= -Math.log(k)) return best;
  return bestBound([best, { name: "cap", value: capBound(k, d) }]);
}

// The epsilon up to which a bound or a construction counts as attaining this one.
function attained(epsilon) {
  return Math.min(epsilon * (1 + CONSTANTS.attained), 0.5 * (1 + epsilon), CONSTANTS.below_one);
}

// The largest whole k in [low, high) that holds, by doubling and bisection; beyond 2^53 as near as floats are.
function largestWhole(holds, low, high) {
  let step = 1;
  while (low + step < high && holds(low + step)) [low, step] = [low + step, 2 * step];
  high = Math.min(low + step, high);
  while (high - low > 1) {
    const middle = Math.floor(0.5 * (low + high));
    if (middle <= low || middle >= high) break;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}

function smallestWhole(holds, high) {
  let [low, up] = [1, 2];
  while (up < high && !holds(up)) [low, up] = [up, 2 * up];
  up = Math.min(up, high);
  while (up - low > 1) {
    const middle = Math.floor(0.5 * (low + up));
    if (middle <= low || middle >= up) break;
    if (holds(middle)) up = middle;
    else low = middle;
  }
  return up;
}

// More lines than this are impossible: { log10, k (null where it is not exact), name }.
function largestCount(d, epsilon) {
  const count = (k, name) => ({ log10: Math.log10(k), k: k < 2 ** 53 ? k : null, name });
  const allowed = attained(epsilon);
  if (d === 2) return count(Math.max(2, Math.floor(Math.PI / Math.acos(allowed))), "exact_d2");
  const byVolume = -logTail(Math.sqrt(0.5 * (1 + allowed)), d);
  const ceiling = Math.min(lineThreshold(d, CONSTANTS.levels + 1), MOST_LINES);
  const allows = (k) => bestBound(algebraicBounds(k, d)).value <= allowed;
  const best = allows(ceiling) ? ceiling : largestWhole(allows, d, ceiling);
  if (Math.log(best) <= byVolume && best < ceiling) {
    return count(best, bestBound(algebraicBounds(Math.max(best + 1, best * (1 + 4e-16)), d)).name);
  }
  if (byVolume < 53 * Math.LN2) {
    return count(Math.max(d, Math.floor(Math.exp(byVolume) * (1 + CONSTANTS.attained))), "cap");
  }
  return { log10: byVolume / Math.LN10, k: null, name: "cap" };
}

function dimensionBound(k, epsilon) {
  const allowed = attained(epsilon);
  const d = k === 1 ? 1 : smallestWhole((dimension) => lowerBound(k, dimension).value <= allowed, k);
  return { d, name: d > 1 ? lowerBound(k, d - 1).name : "orthonormal" };
}
