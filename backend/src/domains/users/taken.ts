import { Problem } from '#contract/errors.ts'
import { violatedConstraint } from '../../db/db.ts'

const taken = 'A user with this email exists already'

/** Converts the violation of the email's uniqueness. @throws Problem user_exists */
export async function refusingTaken<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (violatedConstraint(error) !== 'person_email') throw error
    throw new Problem('user_exists', taken, { email: taken })
  }
}
