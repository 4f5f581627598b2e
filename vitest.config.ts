// Where each kind of test runs: real workerd with the bindings of a wrangler.toml, or Node for what needs files and processes.
import { cloudflareTest } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'

const nodeTests = 'test/**/*.node.test.ts'
const fixtureTests = 'test/conformance/**/*.test.ts'

// The tests say what they need: neither [vars] nor .dev.vars of a fork may change what they see.
const bindings = {
  AUTH: 'none',
  // Tests share one address, and make more calls than one caller may.
  RATE_LIMIT: 'off',
  SESSIONS: 'optional',
  SSE_PRIMING: 'on',
  DEAD_SESSION_GET: '404',
  ALLOWED_ORIGINS: '',
  LISTEN_SHARDS: '1',
  RESUMABLE_LISTEN: 'off',
  LOG: 'requests',
}

export default defineConfig({
  test: {
    silent: 'passed-only',
    globalSetup: ['./test/support/global-setup.ts'],
    projects: [
      {
        plugins: [
          cloudflareTest({
            main: './test/support/main.ts',
            wrangler: { configPath: './wrangler.toml' },
            miniflare: { bindings },
          }),
        ],
        test: { name: 'workerd', include: ['test/**/*.test.ts'], exclude: [nodeTests, fixtureTests] },
      },
      {
        plugins: [cloudflareTest({ wrangler: { configPath: './test/conformance/wrangler.toml' } })],
        test: { name: 'fixture', include: [fixtureTests], exclude: [nodeTests] },
      },
      {
        test: { name: 'node', include: [nodeTests], testTimeout: 60_000, hookTimeout: 60_000 },
      },
    ],
  },
})
