// `completion/complete`: suggestions for prompt arguments and template variables. @see server/utilities/completion

import { clip } from '../protocol/clip.ts'
import { limits } from '../limits.ts'
import { ProtocolError } from '../protocol/errors.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import type { CompleteParams } from '../protocol/params.ts'
import type { LookupContext } from './context.ts'
import { isVisible } from './define.ts'
import type { Auth } from './ports.ts'
import type { Server } from './define-server.ts'

/**
 * Suggests values for what was typed so far. `known` holds the arguments already filled in.
 * More than 100 values may be returned; the first 100 are sent, with the total.
 */
export type Complete = (
  value: string,
  context: LookupContext & { known: Record<string, string> },
) => readonly string[] | Promise<readonly string[]>

/**
 * Answers a completion request.
 * @throws {ProtocolError} InvalidParams for an unknown prompt, template, argument or variable
 */
export async function complete(server: Server, params: CompleteParams, context: LookupContext): Promise<JsonObject> {
  const { argument, known } = params
  const suggest = findComplete(server, params, context.auth)
  if (suggest === undefined) return { completion: { values: [], total: 0, hasMore: false } }
  const values = await suggest(argument.value, Object.assign(context, { known }))
  const shown = values.slice(0, limits.completionValues)
  return { completion: { values: shown, total: values.length, hasMore: values.length > shown.length } }
}

function findComplete(server: Server, { ref, argument }: CompleteParams, auth: Auth): Complete | undefined {
  if (ref.type === 'ref/prompt') {
    const prompt = server.prompts.get(ref.name)
    if (!prompt || !isVisible(prompt, auth))
      throw new ProtocolError('InvalidParams', `Unknown prompt: ${clip(ref.name)}`)
    const names = ((prompt.listed['arguments'] ?? []) as { name: string }[]).map(({ name }) => name)
    if (!names.includes(argument.name)) throw unknownArgument(argument.name)
    return prompt.complete[argument.name]
  }
  const template = server.templates.find(({ uriTemplate }) => uriTemplate.template === ref.uri)
  if (template && isVisible(template, auth)) {
    if (!template.uriTemplate.variables.includes(argument.name)) throw unknownArgument(argument.name)
    return template.complete[argument.name]
  }
  const resource = server.resources.get(ref.uri)
  if (resource && isVisible(resource, auth)) throw unknownArgument(argument.name)
  throw new ProtocolError('InvalidParams', `Unknown resource template: ${clip(ref.uri)}`)
}

function unknownArgument(name: string): ProtocolError {
  return new ProtocolError('InvalidParams', `Invalid params: nothing named "${clip(name)}" to complete`)
}
