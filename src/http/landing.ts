// The page a person sees who opens the endpoint in a browser. No script, nothing loaded from elsewhere.

import { html } from 'hono/html'
import type { Server } from '../server/define-server.ts'

const STYLE =
  'body{font:16px/1.6 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}code{font-size:1.1em}'

/** Says what this is and which URL to paste into a host. What is put in is escaped. */
export function landingPage({ info, instructions }: Pick<Server, 'info' | 'instructions'>, endpoint: string): string {
  const title = info.title ?? info.name
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        <style>
          ${STYLE}
        </style>
      </head>
      <body>
        <h1>${title}</h1>
        <p>
          This is a Model Context Protocol server, version ${info.version}. It answers programs, not browsers. Paste
          this address into an MCP host:
        </p>
        <p><code>${endpoint}</code></p>
        ${instructions === undefined ? '' : html`<p>${instructions}</p>`}
      </body>
    </html>`
  return String(page)
}
