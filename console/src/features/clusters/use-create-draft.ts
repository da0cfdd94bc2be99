import { type NewDraft, useNewDraft } from '../../api/use-new-draft.ts'
import { blank, type Draft, readKept } from './create-draft.ts'

/** The draft of a creation, kept in this browser until the cluster is created or the draft discarded. */
export const useCreateDraft = (): NewDraft<Draft> => useNewDraft('cluster/new', blank, readKept)
