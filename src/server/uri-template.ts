// URI templates, the part of RFC 6570 the specification's examples use: `{name}` is one path segment,
// `{+path}` may span several. Matching refuses traversal. @see server/resources, Resource Templates, Security

import { limits } from '../limits.ts'

/** The variable names of a template, from its type: `'note://{id}'` gives `'id'`. */
export type Variables<T extends string> = T extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `+${infer Bare}` ? Bare : Name) | Variables<Rest>
  : never

export interface UriTemplate {
  template: string
  variables: readonly string[]
  /** The decoded variables, or undefined when the URI does not match or tries to traverse. */
  match(uri: string): Record<string, string> | undefined
}

/**
 * Parses a template.
 * @throws {TypeError} on an operator, modifier or repeated name it does not know
 */
export function parseUriTemplate(template: string): UriTemplate {
  const variables: string[] = []
  const parts: Parts = { literals: [], spans: [] }
  let end = 0
  const literal = (until: number): string => {
    const part = template.slice(end, until)
    if (/[{}]/.test(part)) throw broken(template)
    return part
  }
  for (const { 0: expression, 1: body = '', index } of template.matchAll(/\{([^{}]*)\}/g)) {
    parts.literals.push(literal(index))
    parts.spans.push(body.startsWith('+'))
    end = index + expression.length
    variables.push(variableName(template, body, variables))
  }
  parts.literals.push(literal(template.length))
  return { template, variables, match: (uri) => matchUri(parts, variables, uri) }
}

/** A template taken apart: there is one literal more than there are variables. */
interface Parts {
  literals: string[]
  /** For each variable, whether it may span several segments. */
  spans: boolean[]
}

function variableName(template: string, body: string, known: readonly string[]): string {
  const name = body.replace(/^\+/, '')
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw broken(template)
  if (known.includes(name)) throw new TypeError(`cannot use URI template '${template}': "${name}" occurs twice`)
  return name
}

function matchUri(parts: Parts, variables: readonly string[], uri: string): Record<string, string> | undefined {
  const values = uri.length <= limits.uriChars ? takeApart(parts, uri) : undefined
  if (!values) return undefined
  const found: Record<string, string> = Object.create(null)
  for (const [i, name] of variables.entries()) {
    const value = decodeSegment(values[i]!)
    if (value === undefined) return undefined
    found[name] = value
  }
  return found
}

/**
 * The raw values of the variables, each as long as the later ones allow. Not a regular expression: with several variables
 * in a segment those take time that grows with the cube of a URI's length. Here no place is tried twice.
 */
function takeApart({ literals, spans }: Parts, uri: string): string[] | undefined {
  if (!uri.startsWith(literals[0]!)) return undefined
  const values: string[] = []
  const ends = segmentEnds(uri)
  /** Where variable `i` that may reach as far as `end` is known to lead nowhere: from this start on. */
  const dead = new Map<number, number>()
  const fits = (i: number, start: number): boolean => {
    if (i === spans.length) return start === uri.length
    const literal = literals[i + 1]!
    const end = spans[i] ? uri.length : ends[start]!
    const key = i * (uri.length + 1) + end
    const deadFrom = dead.get(key) ?? Number.POSITIVE_INFINITY
    const isLast = i === spans.length - 1
    const last = isLast ? uri.length - literal.length : deadFrom
    let at = uri.lastIndexOf(literal, Math.min(end, last))
    for (; at > start && start < deadFrom; at = isLast ? -1 : uri.lastIndexOf(literal, at - 1)) {
      if (!fits(i + 1, at + literal.length)) continue
      values[i] = uri.slice(start, at)
      return true
    }
    dead.set(key, Math.min(start, deadFrom))
    return false
  }
  return fits(0, literals[0]!.length) ? values : undefined
}

/** For each place of a URI, where its segment ends. */
function segmentEnds(uri: string): number[] {
  const ends = Array<number>(uri.length + 1).fill(uri.length)
  for (let at = uri.length - 1; at >= 0; at--) ends[at] = '/?#'.includes(uri[at]!) ? at : ends[at + 1]!
  return ends
}

function decodeSegment(raw: string): string | undefined {
  if (/%2f|%5c/i.test(raw)) return undefined
  let value: string
  try {
    value = decodeURIComponent(raw)
  } catch {
    // A percent sign that encodes nothing: no such resource.
    return undefined
  }
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f\\]/.test(value)) return undefined
  return value.split('/').some((segment) => segment === '..' || segment === '.') ? undefined : value
}

function broken(template: string): TypeError {
  return new TypeError(`cannot use URI template '${template}': only {name} and {+name} are supported`)
}
