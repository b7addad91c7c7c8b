/* nothing: the smallest payload there is, for the peak RSS of `run`. wait4(2) tells the greatest of a command and the children it waited
 * for, and busybox alone takes more than a small runtime does. */
int main(void) {
        return 0;
}
