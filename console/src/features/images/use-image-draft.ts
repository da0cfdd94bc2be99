import { type NewDraft, useNewDraft } from '../../api/use-new-draft.ts'
import { blank, type Draft, readKept } from './image-form.ts'

/** What is chosen for an image, kept in this browser. */
export const useImageDraft = (): NewDraft<Draft> => useNewDraft('image/new', blank, readKept)
