/** What makes two e-mail addresses the same: upper and lower case count alike. */
export const emailKey = (email: string): string => email.toLowerCase();
