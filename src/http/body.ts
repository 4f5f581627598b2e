// The body of a POST as JSON: type, size, encoding and depth are checked before anything looks at it.

import { limits } from '../limits.ts'
import { ProtocolError } from '../protocol/errors.ts'
import { isDeeperThan } from '../protocol/json-rpc.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/**
 * Reads and parses a body.
 * @throws {ProtocolError} UnsupportedMediaType, ContentTooLarge or ParseError
 */
export async function readJson(request: Request): Promise<unknown> {
  checkType(request.headers.get('content-type'))
  const text = decode(await readBytes(request))
  if (isDeeperThan(text, limits.jsonDepth)) {
    throw new ProtocolError('ParseError', `Parse error: the body nests deeper than ${limits.jsonDepth} levels`)
  }
  try {
    return JSON.parse(text)
  } catch {
    throw new ProtocolError('ParseError', 'Parse error: the body is not JSON')
  }
}

function checkType(type: string | null): void {
  if (type === 'application/json') return
  const [media = '', ...parameters] = (type ?? '').split(';').map((part) => part.trim().toLowerCase())
  if (media !== 'application/json') {
    throw new ProtocolError('UnsupportedMediaType', 'Unsupported content type: send application/json')
  }
  for (const parameter of parameters) {
    const charset = /^charset="?([^"]*)"?$/.exec(parameter)?.[1]
    if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8') {
      throw new ProtocolError('UnsupportedMediaType', 'Unsupported charset: send utf-8')
    }
  }
}

async function readBytes(request: Request): Promise<Uint8Array> {
  const length = request.headers.get('content-length')
  if (length !== null) {
    if (Number(length) > limits.bodyBytes) throw tooLarge()
    return new Uint8Array(await whole(request.arrayBuffer()))
  }
  return request.body === null ? new Uint8Array() : whole(readCapped(request.body))
}

/** A body whose length nobody announced, read only as far as it may go. */
async function readCapped(body: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > limits.bodyBytes) throw tooLarge()
    chunks.push(chunk)
  }
  const bytes = new Uint8Array(size)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.byteLength
  }
  return bytes
}

/** A body that breaks off is the sender's fault, whatever the platform throws for it. */
async function whole<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    throw new ProtocolError('ParseError', 'Parse error: the body broke off')
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new ProtocolError('ParseError', 'Parse error: the body is not UTF-8')
  }
}

function tooLarge(): ProtocolError {
  return new ProtocolError('ContentTooLarge', `Request body too large: at most ${limits.bodyBytes} bytes`)
}
