/* Runs a fuzz target over files, for compilers without libFuzzer and for the test suite: replay FILE|DIRECTORY... */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned run_file(const char *path) {
        struct stat st;
        uint8_t *data;
        size_t size;
        FILE *f = fopen(path, "r");

        if (!f || fstat(fileno(f), &st) < 0 || !(data = malloc((size_t)st.st_size + 1))) {
                perror(path);
                exit(1);
        }
        size = fread(data, 1, (size_t)st.st_size, f);
        fclose(f);
        LLVMFuzzerTestOneInput(data, size);
        free(data);
        return 1;
}

static unsigned run(const char *path) {
        DIR *dir = opendir(path);
        unsigned n = 0;

        if (!dir)
                return run_file(path);
        for (struct dirent *entry; (entry = readdir(dir));) {
                char inside[4096];

                if (entry->d_name[0] == '.')
                        continue;
                snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
                n += run(inside);
        }
        closedir(dir);
        return n;
}

int main(int argc, char **argv) {
        unsigned n = 0;

        for (int i = 1; i < argc; i++)
                n += run(argv[i]);
        printf("%u inputs\n", n);
        return n == 0;
}
