// What one `wrangler deploy` is made from: a wrangler.toml, the arguments and the environment they name. Pure, and it judges
// nothing: that is preflight.ts.

/** Something read from a wrangler.toml, unchecked. */
export type Table = { readonly [key: string]: unknown }

/** What one deployment is made from. */
export interface Deployment {
  /** The server, or the Worker that issues tokens for it. */
  role: 'server' | 'authorization'
  name: string | undefined
  /** Variables of the configuration, and those of the command line over them. */
  vars: Table
  ratelimits: readonly Table[]
  services: readonly Table[]
  /** Bindings of Durable Objects. */
  objects: readonly Table[]
  kvNamespaces: readonly Table[]
  /** All of it, without environments that are not deployed. */
  settings: Table
}

/**
 * What of a wrangler.toml is deployed.
 * @param config the file
 * @param args as `wrangler deploy` takes them
 * @param variables of the shell
 */
export function readDeployment(config: Table, args: readonly string[], { CLOUDFLARE_ENV }: Table = {}): Deployment {
  const environment = valueOf(args, '--env', '-e') ?? (typeof CLOUDFLARE_ENV === 'string' ? CLOUDFLARE_ENV : '')
  const named = environment === '' ? undefined : tableOf(tableOf(config['env'])[environment])
  // Bindings and variables are not inherited by a named environment, everything else is.
  const own = named ?? config
  const main = own['main'] ?? config['main']
  const name =
    valueOf(args, '--name') ?? own['name'] ?? (named ? `${String(config['name'])}-${environment}` : undefined)
  const vars = { ...tableOf(own['vars']), ...varsOf(args) }
  const { env: _, ...shared } = config
  return {
    role: typeof main === 'string' && /(^|[\\/])authorization\.[cm]?[jt]s$/.test(main) ? 'authorization' : 'server',
    name: typeof name === 'string' ? name : undefined,
    vars,
    ratelimits: tablesOf(own['ratelimits']),
    services: tablesOf(own['services']),
    objects: tablesOf(tableOf(own['durable_objects'])['bindings']),
    kvNamespaces: tablesOf(own['kv_namespaces']),
    settings: { ...shared, ...named, vars },
  }
}

/** The value of a flag: `--name value` or `--name=value`. */
export function valueOf(args: readonly string[], ...flags: readonly string[]): string | undefined {
  const index = args.findIndex((arg) => flags.some((flag) => arg === flag || arg.startsWith(`${flag}=`)))
  const arg = args[index]
  if (arg === undefined) return undefined
  return arg.includes('=') ? arg.slice(arg.indexOf('=') + 1) : args[index + 1]
}

/** `--var A:1 B:2`, `--var=A:1`, each any number of times. */
function varsOf(args: readonly string[]): Table {
  const vars: { [name: string]: string } = {}
  let isList = false
  for (const arg of args) {
    const text = arg.startsWith('--var=') ? arg.slice('--var='.length) : arg
    isList = arg === '--var' || text !== arg || (isList && !arg.startsWith('-'))
    const colon = text.indexOf(':')
    if (isList && arg !== '--var' && colon > 0) vars[text.slice(0, colon)] = text.slice(colon + 1)
  }
  return vars
}

/** A table, or an empty one for anything else. */
export function tableOf(value: unknown): Table {
  return typeof value === 'object' && value !== null ? (value as Table) : {}
}

/** The tables of a list. */
export function tablesOf(value: unknown): Table[] {
  return Array.isArray(value) ? value.map(tableOf) : []
}
