// What is said of a secret that a setting names and nobody has set. Pure, and without types of the platform: a deployment is
// checked with it in Node.

/**
 * What to do about it.
 * @param name as the setting has it
 * @returns undefined for what looks like no name: it may be the secret itself, which must not be shown
 */
export function missingSecret(name: string): string | undefined {
  if (!looksLikeName(name)) return undefined
  return `there is no secret ${name}: npx wrangler secret put ${name}, or .dev.vars on this machine`
}

/** True for what is most likely the name of a secret, and so can be shown: upper case, digits and `_`. */
export function looksLikeName(text: string): boolean {
  return /^[A-Z][A-Z0-9_]{0,63}$/.test(text)
}
