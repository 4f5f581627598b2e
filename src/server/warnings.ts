// Things an author should know that are no errors: gathered while definitions are made, logged once at start-up.

const found: string[] = []

/** Notes a warning about a definition. */
export function warn(message: string): void {
  if (!found.includes(message)) found.push(message)
}

/** What was noted so far. */
export function warnings(): readonly string[] {
  return found
}
