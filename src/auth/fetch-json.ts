// Fetches a JSON object from an issuer. Its URLs come from the configuration, or from what a configured issuer says.

import { isSafe } from '../network.ts'
import { isObject, type JsonObject } from '../protocol/json-rpc.ts'

/**
 * @param signal when it takes too long, together with what was fetched before
 * @returns the object, or undefined where there is none: 4xx, a redirect, a page for people
 * @throws {Error} when it cannot be had: unreachable, slow, or 5xx
 */
export async function fetchJson(url: string, signal: AbortSignal): Promise<JsonObject | undefined> {
  if (!URL.canParse(url) || !isSafe(new URL(url))) throw new Error(`cannot fetch ${url}: it is not https`)
  const response = await fetch(url, {
    headers: { accept: 'application/json' },
    redirect: 'manual',
    signal,
  })
  if (response.status !== 200) {
    await response.body?.cancel()
    if (response.status < 500 && response.status !== 429) return undefined
    throw new Error(`cannot fetch ${url}: status ${response.status}`)
  }
  const value = parse(await response.text())
  return isObject(value) ? value : undefined
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
