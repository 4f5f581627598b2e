// What makes a form ours: a token that only pages of this server hold, for one purpose, in one browser.

import { base64url } from 'jose'
import { readCookie, setCookie } from './cookies.ts'
import { deriveKey, isSame, randomText } from './seal.ts'

const COOKIE = '__Host-authorization-browser'

/** The token for a form; a browser that has no cookie to bind it to is given one in `headers`, once for a page. */
export async function issueFormToken(
  request: Request,
  headers: Headers,
  secret: string,
  purpose: string,
): Promise<string> {
  return tokenOf(secret, readCookie(request, COOKIE) || givenCookie(headers) || giveCookie(headers), purpose)
}

function givenCookie(headers: Headers): string | undefined {
  const line = headers.getSetCookie().find((each) => each.startsWith(`${COOKIE}=`))
  return line?.slice(COOKIE.length + 1).split(';')[0]
}

function giveCookie(headers: Headers): string {
  const browser = randomText()
  headers.append('set-cookie', setCookie(COOKIE, browser))
  return browser
}

/** True if `token` was issued to this browser for `purpose`. */
export async function isFormToken(request: Request, secret: string, purpose: string, token: string): Promise<boolean> {
  const browser = readCookie(request, COOKIE)
  return !!browser && isSame(token, await tokenOf(secret, browser, purpose))
}

async function tokenOf(secret: string, browser: string, purpose: string): Promise<string> {
  return base64url.encode(await deriveKey(secret, `form ${JSON.stringify([browser, purpose])}`))
}
