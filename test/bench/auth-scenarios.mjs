// What the workers with authorization are asked, as bytes, and what a correct answer is.
import assert from 'node:assert/strict'
import { encodeToolCall, scenarios, verifyResponse } from './scenarios.mjs'
import { encodeCall, openSession, verifyCall } from './session-scenarios.mjs'

const call = scenarios.find(({ name }) => name === 'tools/call')

/** As scenarios elsewhere; `prepare` sends the token of its cell, if that has one, and has it refused when forged. */
export const authScenarios = [
  {
    name: 'authorized call',
    prepare: prepare(async (_, headers) => encodeToolCall(headers)),
    verify: (worker, _, response) => verifyResponse(worker, call, response),
  },
  {
    name: 'authorized session call',
    prepare: prepare(async (connection, headers) =>
      encodeCall(await openSession(connection, headers), undefined, headers),
    ),
    verify: verifyCall,
  },
]

export const authParts = authScenarios.map(({ name }) => name)

function prepare(encode) {
  return async ({ name, token }, connection) => {
    if (token === undefined) return encode(connection, {})
    const { status } = await connection.exchange(encodeToolCall({ authorization: `Bearer ${forge(token)}` }))
    assert.equal(status, 401, `${name} answers a forged token`)
    return encode(connection, { authorization: `Bearer ${token}` })
  }
}

/** Another character inside of the signature, where each of its bits counts. */
function forge(token) {
  const at = token.length - 10
  return `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`
}
