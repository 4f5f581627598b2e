// A browser for tests and scripts: a cookie jar, forms filled from the HTML, redirects followed on one origin alone.

/** A page, as the browser sees it. */
export interface Page {
  url: string
  status: number
  headers: Headers
  text: string
}

/** Cookies of one origin; redirects elsewhere are returned, not followed. */
export class Browser {
  readonly origin: string
  readonly cookies = new Map<string, string>()

  constructor(origin: string) {
    this.origin = new URL(origin).origin
  }

  /** One request, no redirect followed. */
  async send(url: string, fields?: URLSearchParams, headers: Record<string, string> = {}): Promise<Page> {
    const cookie = Array.from(this.cookies, ([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(new URL(url, this.origin), {
      method: fields === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: { ...(cookie === '' ? {} : { cookie }), ...headers },
      ...(fields === undefined ? {} : { body: fields }),
    })
    for (const line of response.headers.getSetCookie()) this.#keep(line)
    return { url: response.url, status: response.status, headers: response.headers, text: await response.text() }
  }

  /** Opens a URL and follows redirects while they stay on this origin. */
  async open(url: string): Promise<Page> {
    return this.#follow(await this.send(url))
  }

  /** Fills in a form of a page and sends it. `fields` replace what the page has; undefined leaves a field out. */
  async submit(page: Page, fields: Record<string, string | string[] | undefined> = {}, action?: string): Promise<Page> {
    const form = formOf(page.text, action)
    for (const [name, value] of Object.entries(fields)) {
      form.fields.delete(name)
      for (const each of value === undefined ? [] : [value].flat()) form.fields.append(name, each)
    }
    return this.#follow(await this.send(form.action, form.fields))
  }

  /**
   * Opens an authorization URL, signs in as `user` where asked, and allows or denies.
   * @returns the redirect to the client
   */
  async authorize(
    url: string,
    { user = 'alice', decision = 'allow', scope }: { user?: string; decision?: string; scope?: string[] } = {},
  ): Promise<URL> {
    let page = await this.open(url)
    if (page.text.includes('action="/sign-in"')) page = await this.submit(page, { user })
    if (page.text.includes('action="/authorize"')) {
      page = await this.submit(page, { decision, ...(scope === undefined ? {} : { scope }) }, '/authorize')
    }
    const location = page.headers.get('location')
    if (location === null) throw new Error(`no redirect to the client but ${page.status}: ${textOf(page)}`)
    return new URL(location)
  }

  #keep(line: string): void {
    const [pair = '', ...attributes] = line.split(';')
    const [name = '', value = ''] = pair.split(/=(.*)/s)
    const isGone = attributes.some((attribute) => /^\s*max-age=0$/i.test(attribute))
    if (isGone) this.cookies.delete(name.trim())
    else this.cookies.set(name.trim(), value)
  }

  async #follow(page: Page): Promise<Page> {
    const location = page.headers.get('location')
    if (location === null) return page
    const next = new URL(location, this.origin)
    return next.origin === this.origin ? this.open(next.href) : page
  }
}

/** What a person reads on a page. */
export function textOf({ text }: { text: string }): string {
  const body = /<body>(.*)<\/body>/s.exec(text)?.[1] ?? text
  return unescape(body.replaceAll(/<[^>]*>/g, ' '))
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** Where the only link of a page leads. */
export function linkOf(page: { text: string }): URL {
  const [href, ...others] = Array.from(page.text.matchAll(/<a\s[^>]*>/g), ([tag]) => attribute(tag, 'href'))
  if (href === undefined || others.length > 0) throw new Error(`not one link: ${textOf(page)}`)
  return new URL(href)
}

/** The fields of the form that goes to `action`, or of the first: checked boxes and hidden values, no buttons. */
function formOf(text: string, action?: string): { action: string; fields: URLSearchParams } {
  for (const [, tag = '', inner = ''] of text.matchAll(/<form([^>]*)>(.*?)<\/form>/gs)) {
    const target = attribute(tag, 'action') ?? ''
    if (action !== undefined && target !== action) continue
    const fields = new URLSearchParams()
    for (const [input] of inner.matchAll(/<input[^>]*>/g)) {
      const name = attribute(input, 'name')
      const isOn = attribute(input, 'type') !== 'checkbox' || /\schecked\b/.test(input)
      if (name !== undefined && isOn) fields.append(name, attribute(input, 'value') ?? '')
    }
    return { action: target, fields }
  }
  throw new Error(`no form for ${action ?? 'anything'}: ${textOf({ text })}`)
}

function attribute(tag: string, name: string): string | undefined {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]
  return value === undefined ? undefined : unescape(value)
}

function unescape(text: string): string {
  const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
  return text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (_all, name: string) => named[name] ?? '')
}
