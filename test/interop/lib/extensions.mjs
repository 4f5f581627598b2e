// The identifiers of extensions. The settings of both are empty.

export const extension = 'io.modelcontextprotocol/tasks'
export const resumable = 'dev.mcp-edge/resumable-listen'
