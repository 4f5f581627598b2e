// Makes the prepared schemas available to tests as `inject('wireSchemas')`. A global setup of its own for suites that
// are not held to the matrix of cells. Node only.

import type { TestProject } from 'vitest/node'
import { extractSchemas } from './extract-schemas.ts'
import { prepareSchema } from './prepare-schema.ts'
import type { WireSchema } from './prepare-schema.ts'
import { REVISIONS } from './revisions.ts'
import type { Revision } from './revisions.ts'

export function provideSchemas(project: TestProject): void {
  const published = extractSchemas()
  const entries = REVISIONS.map((revision) => [revision, prepareSchema(revision, published[revision])])
  project.provide('wireSchemas', Object.fromEntries(entries) as Record<Revision, WireSchema>)
}

export default provideSchemas
