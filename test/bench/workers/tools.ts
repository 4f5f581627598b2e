// The tools every worker under test publishes: `add`, which is called, and as many of ordinary shapes as asked for.
// Plain values, no MCP library: each worker registers them in its own way.
import * as z from 'zod'

z.config({ jitless: true })

export interface BenchTool {
  name: string
  title: string
  description: string
  inputSchema: z.ZodObject
  outputSchema: z.ZodObject
}

const addInput = z.object({ a: z.number().describe('First summand'), b: z.number().describe('Second summand') })
const addOutput = z.object({ sum: z.number() })

/** The tool that is called. */
export const add = {
  name: 'add',
  title: 'Add',
  description: 'Add two numbers and return their sum.',
  inputSchema: addInput,
  outputSchema: addOutput,
  run: async ({ a, b }: z.output<typeof addInput>): Promise<z.input<typeof addOutput>> => ({ sum: a + b }),
}

const nouns = ['note', 'invoice', 'customer', 'order', 'ticket', 'project', 'document', 'message', 'event', 'account']

const shapes: ((noun: string) => Omit<BenchTool, 'name'> & { verb: string })[] = [
  (noun) => ({
    verb: 'get',
    title: `Get ${noun}`,
    description: `Fetch one ${noun} by its id. Fails if the id is unknown.`,
    inputSchema: z.object({ id: z.string().min(1).describe(`Id of the ${noun}`) }),
    outputSchema: z.object({ id: z.string(), name: z.string(), createdAt: z.string() }),
  }),
  (noun) => ({
    verb: 'search',
    title: `Search ${noun}s`,
    description: `Find every ${noun} that matches a query, newest first.`,
    inputSchema: z.object({
      query: z.string().max(200).describe('Words to look for'),
      limit: z.number().int().min(1).max(100).default(20),
      order: z.enum(['newest', 'oldest', 'relevance']).default('newest'),
      tags: z.array(z.string()).max(10).optional(),
    }),
    outputSchema: z.object({ items: z.array(z.object({ id: z.string(), name: z.string(), score: z.number() })) }),
  }),
  (noun) => ({
    verb: 'create',
    title: `Create ${noun}`,
    description: `Create a new ${noun} and return its id.`,
    inputSchema: z.object({
      name: z.string().min(1).max(120),
      owner: z.object({ id: z.string(), email: z.email().optional() }),
      priority: z.enum(['low', 'normal', 'high']).optional(),
      isPrivate: z.boolean().default(false),
    }),
    outputSchema: z.object({ id: z.string() }),
  }),
  (noun) => ({
    verb: 'update',
    title: `Update ${noun}`,
    description: `Change some fields of one ${noun}; fields left out stay as they are.`,
    inputSchema: z.object({
      id: z.string(),
      name: z.string().max(120).optional(),
      note: z.string().max(2_000).nullable().optional(),
      due: z.iso.date().optional(),
    }),
    outputSchema: z.object({ id: z.string(), changed: z.array(z.string()) }),
  }),
  (noun) => ({
    verb: 'delete',
    title: `Delete ${noun}`,
    description: `Delete one ${noun} for good.`,
    inputSchema: z.object({ id: z.string(), reason: z.string().max(500).optional() }),
    outputSchema: z.object({ deleted: z.boolean() }),
  }),
]

/** `count - 1` tools that are only listed; with `add` they make `count`. */
export function createListedTools(count: number): BenchTool[] {
  return Array.from({ length: count - 1 }, (_, i) => {
    const round = Math.floor(i / (shapes.length * nouns.length))
    const noun = nouns[Math.floor(i / shapes.length) % nouns.length]!
    const { verb, ...tool } = shapes[i % shapes.length]!(noun)
    return { name: `${verb}_${noun}${round > 0 ? `_${round + 1}` : ''}`, ...tool }
  })
}

/** The entries of `tools/list`, for the workers that have no library to make them. */
export function convertTools(count: number) {
  return [add, ...createListedTools(count)].map(({ name, title, description, inputSchema, outputSchema }) => ({
    name,
    title,
    description,
    inputSchema: z.toJSONSchema(inputSchema, { io: 'input' }),
    outputSchema: z.toJSONSchema(outputSchema, { io: 'output' }),
  }))
}
