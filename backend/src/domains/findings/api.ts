/** What other code may call of findings. */

export interface Findings {
  /**
   * Judges everything now and stores the findings. Does nothing while another process judges. After
   * `start`, it runs by itself; tests call it directly.
   */
  readonly judge: () => Promise<void>
}
