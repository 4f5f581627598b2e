// Other limits, for whoever waits for what takes a day: the variable LIMITS, as JSON.

import { env } from 'cloudflare:workers'
import { limits } from '../../src/limits.ts'

Object.assign(limits, JSON.parse((env as { LIMITS?: string }).LIMITS ?? '{}'))
