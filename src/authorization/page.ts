// The frame of every page, its headers and its style. No script, nothing loaded from elsewhere; what is put in is escaped.

import { html } from 'hono/html'
import { authorizationLimits } from './limits.ts'

type Content = ReturnType<typeof html>

/** The path of the style sheet: inline styles would need a hole in the policy below. */
export const STYLE_PATH = '/style.css'

export const STYLE = `body{font:16px/1.6 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.3}button,input{font:inherit;padding:.4rem .8rem}
.warning{border-left:.3rem solid #c60;padding-left:.8rem}.quiet{color:#555;border-top:1px solid #ccc;padding-top:1rem}`

// No `form-action`: browsers apply it to every redirect after a form, and where a client redirects to is its affair.
const POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'"

/**
 * A page. `headers` are kept, cookies among them; those that protect a page are set over them.
 */
export function page(title: string, content: Content, { status = 200, headers = new Headers() } = {}): Response {
  headers.set('content-type', 'text/html; charset=utf-8')
  headers.set('cache-control', 'no-store')
  headers.set('content-security-policy', POLICY)
  headers.set('x-frame-options', 'DENY')
  headers.set('x-content-type-options', 'nosniff')
  headers.set('referrer-policy', 'same-origin')
  const document = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        <link rel="stylesheet" href="${STYLE_PATH}" />
      </head>
      <body>
        <h1>${title}</h1>
        ${content}
      </body>
    </html>`
  return new Response(String(document), { status, headers })
}

/** A page that only says something. */
export function message(title: string, text: string, options?: { status?: number; headers?: Headers }): Response {
  return page(title, html`<p>${text}</p>`, options)
}

/** Text of a stranger, as it may stand in a page: short, and without what is invisible or turns the direction. */
export function shown(text: string, limit: number = authorizationLimits.shownCharacters): string {
  const visible = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim()
  return visible.length > limit ? `${visible.slice(0, limit)}…` : visible
}
