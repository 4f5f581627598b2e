// The moments at which a hub can be crashed. Data only: the Worker and the harness both read it.

export const CRASH_POINTS = [
  'as a change comes',
  'before a change is stored',
  'when a change is stored',
  'after a change was answered',
  'as a listener comes',
  'as a listener is taken',
  'after a listener was taken',
  'as a session follows',
  'when it is stored that a session follows',
  'before a session is told',
  'after a session was told',
  'in the alarm',
] as const

export type CrashPoint = (typeof CRASH_POINTS)[number]
