// Passkeys and security keys: asks the browser for one, and sends what it says with the form.

/**
 * What the server asks the browser for, as allauth writes it.
 * @typedef {{publicKey: PublicKeyCredentialCreationOptionsJSON & PublicKeyCredentialRequestOptionsJSON}} Asked
 */

const NO_KEYS =
  "Keys do not work here: they need an address with https:// (or localhost), and a browser of 2025 or newer.";
const MISTAKES = new Map([
  ["NotAllowedError", "The request was canceled or timed out. Try again."],
  ["InvalidStateError", "This key was added before."],
  ["SecurityError", NO_KEYS],
]);

/** @returns {boolean} */
function knowsKeys() {
  return "PublicKeyCredential" in window && "parseRequestOptionsFromJSON" in PublicKeyCredential;
}

/**
 * @param {HTMLFormElement} form
 * @returns {Promise<Asked>}
 */
async function askedBy(form) {
  const name = form.dataset.options;
  if (name) return JSON.parse(document.getElementById("key-options")?.textContent ?? "{}")[name];
  const answer = await fetch(form.action, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error("The server sent an unexpected reply. Reload the page.");
  return (await answer.json()).request_options;
}

/**
 * @param {HTMLFormElement} form
 * @param {Asked} asked
 * @returns {Promise<Credential | null>}
 */
function credentialFor(form, { publicKey }) {
  if (form.dataset.key !== "make") {
    return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey) });
  }
  const passkey = /** @type {HTMLInputElement} */ (form.elements.namedItem("passwordless")).checked;
  /** @type {AuthenticatorSelectionCriteria} */
  const wanted = {
    ...publicKey.authenticatorSelection,
    residentKey: passkey ? "required" : "discouraged",
    requireResidentKey: passkey,
    ...(passkey ? { userVerification: "required" } : {}),
  };
  const options = { ...publicKey, authenticatorSelection: wanted };
  return navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) });
}

/** @param {HTMLFormElement} form */
async function useKey(form) {
  const said = /** @type {HTMLElement} */ (form.querySelector("[data-said]"));
  const button = /** @type {HTMLButtonElement} */ (form.querySelector("button"));
  said.hidden = true;
  button.disabled = true;
  try {
    const credential = await credentialFor(form, await askedBy(form));
    const field = /** @type {HTMLInputElement} */ (form.elements.namedItem("credential"));
    field.value = JSON.stringify(credential);
    form.submit();
  } catch (error) {
    const { name, message } = /** @type {Error} */ (error);
    said.textContent = MISTAKES.get(name) ?? message;
    said.hidden = false;
    button.disabled = false;
  }
}

for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll("form[data-key]"))) {
  if (knowsKeys()) {
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      useKey(form);
    });
  } else if (!form.hidden) {
    const said = /** @type {HTMLElement} */ (form.querySelector("[data-said]"));
    said.textContent = NO_KEYS;
    said.hidden = false;
    /** @type {HTMLButtonElement} */ (form.querySelector("button")).disabled = true;
  }
}
