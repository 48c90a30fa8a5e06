"use strict";
// The capacity laws of superjax.laws, natural logarithms of k inside; constants come from the page.

const CONSTANTS = JSON.parse(document.getElementById("planner-constants").textContent);

function bisect(residual, low, high) {
  for (let step = 0; step < 200; step++) {
    const middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;
    if (residual(middle) < 0) low = middle;
    else high = middle;
  }
  return 0.5 * (low + high);
}

// ln Gamma(z + 1/2) - ln Gamma(z), by Stirling's series after ten steps of the recurrence.
function logGammaRatio(z) {
  let sum = 0;
  for (let step = 0; step < 10; step++) sum += Math.log((z + step) / (z + step + 0.5));
  const w = z + 10;
  const series = -1 / (8 * w) + 1 / (192 * w ** 3) - 1 / (640 * w ** 5) + 17 / (14336 * w ** 7);
  return sum + 0.5 * Math.log(w) + series;
}

// Lentz's continued fraction of the incomplete beta function (Numerical Recipes, section 6.4).
function betaFraction(a, b, x) {
  const tiny = 1e-300;
  let c = 1;
  let d = 1 - ((a + b) * x) / (a + 1);
  d = 1 / (Math.abs(d) < tiny ? tiny : d);
  let value = d;
  for (let m = 1; m < 100000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    let change = 1;
    for (const term of [even, odd]) {
      d = 1 + term * d;
      c = 1 + term / c;
      d = 1 / (Math.abs(d) < tiny ? tiny : d);
      if (Math.abs(c) < tiny) c = tiny;
      change = d * c;
      value *= change;
    }
    if (Math.abs(change - 1) < 1e-16) break;
  }
  return value;
}

// ln P(|cos| > x) of two random directions of R^d: the regularised incomplete beta function I_{1-x^2}((d-1)/2, 1/2).
function logTail(x, d) {
  if (x <= 0) return 0;
  const a = 0.5 * (d - 1);
  const logFront = a * Math.log1p(-x * x) + Math.log(x) + logGammaRatio(a) - 0.5 * Math.log(Math.PI);
  const y = (1 - x) * (1 + x);
  if (y < (a + 1) / (a + 2.5)) return logFront - Math.log(a) + Math.log(betaFraction(a, 0.5, y));
  return Math.log1p(-2 * Math.exp(logFront) * betaFraction(0.5, a, x * x));
}

// The |cosine| that two random directions exceed with probability exp(logP).
function inverseLogTail(logP, d) {
  const high = Math.min(Math.sqrt(-Math.expm1((2 * logP) / (d - 1))), 1 - 1e-15);
  return bisect((x) => logP - logTail(x, d), 0, high);
}

function quantileLogK(form, d, epsilon) {
  const logP = logTail(Math.min(epsilon / form.factor, 1 - 1e-15), d);
  const p = Math.exp(logP);
  const double = 2 * (d - 1);
  return Math.log(double) + Math.log(0.5 * (p / double + 1 + Math.sqrt((p / double) ** 2 + (1 - p)))) - logP;
}

function logK(form, d, epsilon) {
  if ("factor" in form) return quantileLogK(form, d, epsilon);
  const exponent = ((d ** form.d_power * epsilon ** 2) / form.scale) ** (1 / form.log_power);
  return (form.divisor_power * Math.log(d) + exponent) / form.k_power;
}

function epsilonFor(form, k, d) {
  if (k <= d) return 0;
  if ("factor" in form) {
    const high = Math.min(Math.sqrt(-Math.expm1((-2 * Math.log(k)) / (d - 1))), 1 - 1e-15);
    return form.factor * bisect((x) => quantileLogK({ factor: 1 }, d, x) - Math.log(k), 0, high);
  }
  const logarithm = form.k_power * Math.log(k) - form.divisor_power * Math.log(d);
  return logarithm > 0 ? Math.sqrt((form.scale * logarithm ** form.log_power) / d ** form.d_power) : 0;
}

function dimensionFor(form, k, epsilon) {
  const target = Math.log(k);
  const residual = (logD) => logK(form, Math.max(Math.exp(logD), 2), epsilon) - target;
  return Math.exp(bisect(residual, Math.min(target, Math.LN2), target));
}

function isExtrapolated(range, k, d) {
  const slack = 1 + 1e-9;
  const inside = k * slack >= range.k[0] && k <= (range.k[1] ?? Infinity) * slack && k * slack >= range.ratio * d;
  return !(inside && d >= range.d[0] && d <= (range.d[1] ?? Infinity));
}
