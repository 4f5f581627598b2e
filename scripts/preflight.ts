// What can be told about a deployment before and after wrangler tried it. Pure: no files, no processes, no network.

const placeholder =
  /^<.*>$|\b(todo|fixme|placeholder|change[-_ ]?me|replace[-_ ]?(me|this|with))\b|\byour[-_ ]|^x{3,}$/i

/** Names every value of a wrangler.toml that is empty or still a placeholder. */
export function findUnset(value: unknown, path = ''): string[] {
  if (typeof value === 'string') {
    if (value.trim() === '') return [`${path} is empty`]
    return placeholder.test(value) ? [`${path} is still a placeholder: "${value}"`] : []
  }
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    return findUnset(inner, Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`)
  })
}

const failures: [pattern: RegExp, meaning: string][] = [
  [
    /code: 10034\]|email_verification_required|verify your (account's )?e-?mail/i,
    'the e-mail address of the Cloudflare account is not verified: open the link in their mail, or request a new one at https://dash.cloudflare.com/profile, then deploy again',
  ],
  [
    /code: 10063\]|(register|need) a workers\.dev subdomain/i,
    'the Cloudflare account has no workers.dev subdomain yet: choose one at https://dash.cloudflare.com/?to=/:account/workers/onboarding, then deploy again',
  ],
  [
    /not logged in|not authenticated|set a CLOUDFLARE_API_TOKEN/i,
    'not logged in to Cloudflare: run "npx wrangler login", or set CLOUDFLARE_API_TOKEN, then deploy again',
  ],
  [
    /more than one account|mandatory to specify an account ID/i,
    'the login can reach several Cloudflare accounts: set CLOUDFLARE_ACCOUNT_ID to the one to deploy to',
  ],
  [
    /code: (10000|9109|10001)\]|authentication error/i,
    'Cloudflare refused the login: run "npx wrangler login" again, or make a token from the template "Edit Cloudflare Workers"',
  ],
]

export const notLoggedIn = failures[2]![1]

/** One sentence with what to do, where the cause of a failed deployment is known. */
export function explainFailure(output: string): string | undefined {
  return failures.find(([pattern]) => pattern.test(output))?.[1]
}

const TEMPLATE_NAME = 'mcp-edge'

/** What deserves a second look, though the deployment may go on. */
export function findWarnings({ name }: { name?: string | undefined }): string[] {
  const warnings = ['there is no authorization: anybody who knows the URL can call every tool of this server']
  if (name === TEMPLATE_NAME) {
    warnings.push(
      `name is still "${name}", as in the template: a Worker of that name in your account would be replaced`,
    )
  }
  return warnings
}
