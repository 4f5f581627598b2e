// HTTP on a connection of its own for each request, and what it looks like when that breaks.

import { request } from 'node:http'

/** One request on a connection of its own. Resolves with the response as soon as it has headers. */
export function exchange({ port, method, path = '/mcp', headers = {}, body, signal }) {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false, signal }, resolve)
    sent.on('error', reject)
    sent.end(body)
  })
}

/** True for what a killed server or a cut connection does to a request. */
export function isCut({ code }) {
  return ['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ECONNABORTED'].includes(code)
}

/** The whole body, or undefined when it was cut off. */
export async function bodyOf(response) {
  let text = ''
  try {
    for await (const chunk of response) text += chunk
    return text
  } catch (error) {
    if (isCut(error)) return undefined
    throw error
  }
}
