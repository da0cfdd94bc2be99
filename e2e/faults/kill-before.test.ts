import { effectPoints } from './testing/points.ts'
import { killAtEach } from './testing/kills.ts'

await killAtEach(effectPoints.before, 'kill-before')
