/** Rules that catch mistakes in our scripts; how lines are laid out is nobody's business here. */

import { readFileSync } from "node:fs";

import js from "@eslint/js";
import globals from "globals";

/** Keys of JSON that the server or a draft has: the only names with an underscore. */
const wire = readFileSync(new URL("static/js/shared/wire.js", import.meta.url), "utf-8");
const declared = wire.matchAll(/^ \* @property \{.*\} \[?([a-z0-9]+(?:_[a-z0-9]+)+)/gm);
const keys = [...new Set([...declared].map((found) => found[1]))];

const SNAKE = "/[a-z0-9]_[a-z0-9]/";
const message = "Our own names are camelCase; names with an underscore are keys of shared/wire.js.";
const ours = [
  `MemberExpression[object.type="ThisExpression"][property.name=${SNAKE}]`,
  `VariableDeclarator[id.name=${SNAKE}]`,
  `ObjectPattern > Property[value.name=${SNAKE}]`,
  `:function > Identifier.params[name=${SNAKE}]`,
  `:matches(MethodDefinition, PropertyDefinition)[key.name=${SNAKE}]`,
];

const markup = ["innerHTML", "outerHTML", "insertAdjacentHTML"].map((property) => ({
  property,
  message: "Words of others are text: set textContent, or take nodes over from a parsed document.",
}));
const silencers = ["@ts-ignore", "@ts-expect-error", "@ts-nocheck"];

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: globals.browser },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "no-implicit-globals": "error",
      "no-restricted-properties": ["error", ...markup],
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "no-var": "error",
      "no-warning-comments": ["error", { terms: silencers, location: "anywhere" }],
      "prefer-const": "error",
    },
  },
  {
    files: ["static/js/**"],
    rules: {
      camelcase: ["error", { properties: "always", allow: keys }],
      "no-restricted-syntax": ["error", ...ours.map((selector) => ({ selector, message }))],
    },
  },
  { files: ["*.js"], languageOptions: { globals: globals.node } },
];
