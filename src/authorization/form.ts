// Bodies of POST: urlencoded, read no further than they may be long.

import { authorizationLimits } from './limits.ts'

/** A body that is none, for the answer of whoever asked for it. */
export class FormError extends Error {
  override name = 'FormError'
  readonly status: 400 | 413 | 415

  constructor(status: FormError['status'], message: string) {
    super(message)
    this.status = status
  }
}

/**
 * The fields of a form.
 * @throws {FormError} for another content type, or a body over `bodyBytes`
 */
export async function readForm(request: Request): Promise<URLSearchParams> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/x-www-form-urlencoded') {
    throw new FormError(415, 'the content type must be application/x-www-form-urlencoded')
  }
  return new URLSearchParams(new TextDecoder().decode(await readBody(request)))
}

/** @throws {FormError} for a body over `bodyBytes` */
export async function readBody(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > authorizationLimits.bodyBytes) throw new FormError(413, 'the body is too large')
    chunks.push(chunk)
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer())
}
