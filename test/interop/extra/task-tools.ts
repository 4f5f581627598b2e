// Tools that run as tasks. None of them knows in which form.

import * as z from 'zod'
import { defineTool, ToolError } from '../../../src/server/index.ts'

const QUICK = { ttlMs: 600_000, pollIntervalMs: 200 } as const

export const book = defineTool('book', {
  description: 'Ask for a day, then whether to book it.',
  task: { ...QUICK, support: 'optional', immediateResponse: 'The user is being asked.' },
  async handler(_, ctx) {
    const day = await ctx.elicit('day', { message: 'Which day?', schema: z.object({ day: z.string() }) })
    if (day.action !== 'accept') return 'No day.'
    ctx.progress(1, 2, `Found a seat on ${day.content.day}`)
    const sure = await ctx.elicit('sure', { message: 'Book it?', schema: z.object({ sure: z.boolean() }) })
    return sure.action === 'accept' && sure.content.sure ? `Booked for ${day.content.day}.` : 'Not booked.'
  },
})

export const bake = defineTool('bake', {
  description: 'Take about a second, in three steps; never as an ordinary call.',
  task: { ...QUICK, support: 'required' },
  async handler(_, ctx) {
    const steps = ['Mixed', 'Baked', 'Cooled']
    for (const [i, step] of steps.entries()) {
      await ctx.sleep(400)
      ctx.progress(i + 1, steps.length, step)
    }
    return 'A cake.'
  },
})

export const burn = defineTool('burn', {
  description: 'Fail after a moment, as tools do.',
  task: { ...QUICK, support: 'optional' },
  async handler(_, ctx) {
    await ctx.sleep(300)
    throw new ToolError('It is charcoal now')
  },
})
