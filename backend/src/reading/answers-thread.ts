/**
 * The thread that reads long JSON, such as the answer of a cluster's Kubernetes API, and the
 * documents of BMCs.
 */
import { readDocument } from '#redfish/readers/readers.ts'
import { pieces } from './json-pieces.ts'
import { serveWork } from './serve.ts'

const work = { json: pieces, redfish: readDocument }

export type AnswerWork = typeof work

serveWork(work)
