// The types of site.mjs, which says what each function does.

/** What a path answers. */
export interface SiteAnswer {
  /** The method it answers; any by default. */
  method?: string
  /** It answers only requests whose body has this text in it. */
  contains?: string
  /** 200 by default. */
  status?: number
  headers?: Record<string, string>
  /** Sent as it is. */
  body?: string
  delayMs?: number
  /** The request gets no answer. */
  hang?: boolean
  /** The answer begins, but its last character does not come. */
  stall?: boolean
  /** The connection is cut, as by a server that is down. */
  drop?: boolean
}

/** A request that the site got. */
export interface SiteRequest {
  method: string
  /** With its query. */
  path: string
  headers: Record<string, string | string[] | undefined>
  body: string
}

export interface Site {
  /** Without a slash at its end. */
  url: string
  stop(): Promise<void>
}

export function startSite(): Promise<Site>

declare module 'vitest' {
  interface ProvidedContext {
    /** The site that the global setup has started, without a slash at its end. */
    siteUrl: string
  }
}
