// A failing request as something to paste into a shell, made smaller while it keeps failing.
import { isObject, pathsOf, toText, withAt } from './json.mjs'
import { toBytes } from './requests.mjs'

const attempts = 60
const shownBytes = 1_200

/** Takes headers and members away one by one. @param fails tells whether a request still fails the same way */
export async function minimise(request, fails) {
  if (request.raw) return request
  let smallest = request
  let left = attempts
  const keeps = async (candidate) => {
    if (left-- <= 0 || !(await fails(candidate))) return false
    smallest = candidate
    return true
  }
  for (const header of request.headers.filter(([name]) => name !== 'Host')) {
    await keeps({ ...smallest, headers: smallest.headers.filter((other) => other !== header) })
  }
  let message = parse(request.body)
  for (const path of pathsOf(message)) {
    const without = withAt(message, path, undefined)
    if (await keeps({ ...smallest, body: Buffer.from(toText(without)) })) message = without
  }
  return smallest
}

/** The message, if its text survives being parsed and written again. */
function parse(body) {
  try {
    const text = String(body)
    const value = JSON.parse(text)
    if (isObject(value) && toText(value) === text) return value
  } catch {
    // No JSON: nothing to take members from.
  }
  return {}
}

/** A shell command that sends the request, byte for byte. */
export function asCommand(request, port) {
  const bytes = toBytes(request)
  const shown = bytes.subarray(0, shownBytes).toString('latin1')
  const more = bytes.length > shownBytes ? `… (${bytes.length} bytes in all)` : ''
  return `printf '${shown.replaceAll(/[\\'%]|[^\x20-\x7e]/g, escaped)}${more}' | nc localhost ${port}`
}

function escaped(char) {
  const known = { '\\': '\\\\', '%': '%%', '\r': '\\r', '\n': '\\n' }[char]
  return known ?? `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`
}
