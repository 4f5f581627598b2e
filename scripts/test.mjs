// What `npm test` means: types, lint, format, then every vitest project. Runs each even if an earlier one failed and
// ends with the sum. Arguments name the checks to run instead of all.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'

const report = '.results/vitest.json'

const checks = {
  types: () => tool('tsc', '--project', 'tsconfig.json') && tool('tsc', '--project', 'tsconfig.node.json'),
  lint: () => tool('oxlint', '--deny-warnings'),
  format: () => tool('oxfmt', '--check', '.'),
}

let passed = 0
let failed = 0
const names = process.argv.slice(2)

for (const [name, check] of Object.entries(checks)) {
  if (names.length > 0 && !names.includes(name)) continue
  console.log(`\n${name}`)
  if (check()) passed++
  else failed++
}
if (names.length === 0) runVitest()
console.log(`\ntest: ${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)

function runVitest() {
  rmSync(report, { force: true })
  const ok = tool('vitest', 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`)
  const { numPassedTests = 0, numFailedTests = 0 } = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : {}
  passed += numPassedTests
  // A file that cannot be loaded and an error outside of a test fail the run without failing a test.
  failed += ok ? 0 : Math.max(1, numFailedTests)
}

function tool(name, ...args) {
  return spawnSync(name, args, { stdio: 'inherit', shell: process.platform === 'win32' }).status === 0
}
