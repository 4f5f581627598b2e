// This repository's own modules with the tools of the benchmark: what workers/mcp.ts is, without the example's objects.
import { ports } from '../../../durable-objects/ports.ts'
import { createApp } from '../../../src/http/app.ts'
import { defineServer, defineTool, ToolError } from '../../../src/server/index.ts'
import { serverInfo } from './answers.ts'
import { add, createListedTools } from './tools.ts'

declare const TOOL_COUNT: number

const { name, run, ...options } = add

const server = defineServer({
  ...serverInfo,
  tools: [
    defineTool(name, { ...options, handler: run }),
    ...createListedTools(TOOL_COUNT).map(({ name: listed, ...config }) =>
      defineTool(listed, {
        ...config,
        handler: () => {
          throw new ToolError('Only listed')
        },
      }),
    ),
  ],
})

const keys = () => Promise.reject(new Error('nothing here seals'))

export default createApp({
  server,
  ...ports(server),
  keys,
})
