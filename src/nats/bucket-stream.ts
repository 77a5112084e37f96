/** The stream that stores a bucket. */
export const streamOf = (bucket: string): string => `KV_${bucket}`
