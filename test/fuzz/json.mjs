// JSON that `JSON.stringify` cannot write: numbers out of range, lone surrogates, keys that occur twice, `__proto__`.

/** Text that is put into the JSON as it stands. */
// oxlint-disable-next-line typescript/no-extraneous-class
export class Raw {
  constructor(text) {
    this.text = text
  }
}

/** An object by its members, whatever their keys, however often. */
// oxlint-disable-next-line typescript/no-extraneous-class
export class Members {
  constructor(entries) {
    this.entries = entries
  }
}

export function toText(value) {
  if (value instanceof Raw) return value.text
  if (value instanceof Members) return object(value.entries)
  if (Array.isArray(value)) return `[${value.map((item) => toText(item) ?? 'null').join(',')}]`
  if (isObject(value)) return object(Object.entries(value))
  return JSON.stringify(value)
}

function object(entries) {
  const members = entries.filter(([, value]) => value !== undefined)
  return `{${members.map(([key, value]) => `${keyText(key)}:${toText(value)}`).join(',')}}`
}

function keyText(key) {
  return key instanceof Raw ? key.text : JSON.stringify(key)
}

/** True for an object that may be changed by key. */
export function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Raw)
}

/** A copy whose every level may be changed. */
export function clone(value) {
  if (Array.isArray(value)) return value.map(clone)
  if (!isObject(value) || value instanceof Members) return value
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, clone(child)]))
}

/** Every path below the root, as lists of keys. */
export function pathsOf(value, path = []) {
  if (typeof value !== 'object' || value === null || value instanceof Raw || value instanceof Members) return []
  return Object.entries(value).flatMap(([key, child]) => [[...path, key], ...pathsOf(child, [...path, key])])
}

export function getAt(value, path) {
  return path.reduce((at, key) => at?.[key], value)
}

/** A copy with `replacement` at `path`; undefined takes the member away. Missing parents are made. */
export function withAt(value, path, replacement) {
  const copy = clone(value)
  let parent = copy
  for (const key of path.slice(0, -1)) parent = parent[key] ??= {}
  const key = path.at(-1)
  if (replacement !== undefined) parent[key] = replacement
  else if (Array.isArray(parent)) parent.splice(Number(key), 1)
  else delete parent[key]
  return copy
}

/** A copy with one more member in the object at `path`, whose key may be a duplicate. */
export function withMember(value, path, key, member) {
  const target = getAt(value, path) ?? {}
  const entries = target instanceof Members ? target.entries : Object.entries(target)
  const members = new Members([...entries, [key, member]])
  return path.length === 0 ? members : withAt(value, path, members)
}

/** What a parser makes of it, as far down as objects go: of members that occur twice, the last one. */
export function plain(value) {
  if (value instanceof Members) return plain(Object.fromEntries(value.entries.filter(([key]) => !(key instanceof Raw))))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, plain(child)]))
}

/** `levels` arrays or objects inside each other. */
export function nested(levels, kind = 'array') {
  const isArray = (level) => kind === 'array' || (kind === 'mixed' && level % 2 === 0)
  const order = Array.from({ length: levels }, (_, level) => isArray(level))
  return new Raw(
    order.map((array) => (array ? '[' : '{"a":')).join('') +
      '1' +
      order
        .toReversed()
        .map((array) => (array ? ']' : '}'))
        .join(''),
  )
}
