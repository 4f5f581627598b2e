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
  let pattern = ''
  let end = 0
  const literal = (until: number): string => {
    const part = template.slice(end, until)
    if (/[{}]/.test(part)) throw broken(template)
    return escapeRegExp(part)
  }
  for (const { 0: expression, 1: body = '', index } of template.matchAll(/\{([^{}]*)\}/g)) {
    pattern += literal(index) + (body.startsWith('+') ? '(.+)' : '([^/?#]+)')
    end = index + expression.length
    variables.push(variableName(template, body, variables))
  }
  const regExp = new RegExp(`^${pattern}${literal(template.length)}$`)
  return { template, variables, match: (uri) => matchUri(regExp, variables, uri) }
}

function variableName(template: string, body: string, known: readonly string[]): string {
  const name = body.replace(/^\+/, '')
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw broken(template)
  if (known.includes(name)) throw new TypeError(`cannot use URI template '${template}': "${name}" occurs twice`)
  return name
}

function matchUri(regExp: RegExp, variables: readonly string[], uri: string): Record<string, string> | undefined {
  const values = uri.length <= limits.uriChars ? regExp.exec(uri) : null
  if (!values) return undefined
  const found: Record<string, string> = Object.create(null)
  for (const [i, name] of variables.entries()) {
    const value = decodeSegment(values[i + 1]!)
    if (value === undefined) return undefined
    found[name] = value
  }
  return found
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

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

function broken(template: string): TypeError {
  return new TypeError(`cannot use URI template '${template}': only {name} and {+name} are supported`)
}
